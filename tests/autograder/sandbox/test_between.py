"""Two submissions side by side, or one after the other, in kernels of one zygote: neither tells the
other anything, and neither takes from the machine what is all the others'.

Each channel was tried with walls that did not know of it, and carried something.
"""

import errno
import json
import socket
import textwrap

import pytest

from autograder.sandbox import bubblewrap, confine
from autograder.sandbox import kernels as sandboxed_kernels
from autograder.sandbox.client import KernelClient, KernelDied
from autograder.sandbox.limits import Limits

pytestmark = pytest.mark.skipif(bool(bubblewrap.missing()), reason=bubblewrap.missing() or "walls")

# what both sides of every channel can use; the file is one that no Python reads by itself
TOOLS = '''
import ctypes, fcntl, glob, json, mmap, os, resource, signal, socket, struct, sys, threading, time
libc = ctypes.CDLL(None, use_errno=True)
FILE = sorted(glob.glob(sys.prefix + "/lib/python3*/site-packages/torch/include/**/*.h", recursive=True))[-1]
FOLDER = os.path.dirname(FILE)


def call(number, *arguments):
    """What a system call returns, or the negative number of its error."""
    libc.syscall.restype = ctypes.c_long
    result = libc.syscall(ctypes.c_long(number), *(
        argument if not isinstance(argument, int) else ctypes.c_ulong(argument) for argument in arguments
    ))
    return result if result != -1 else -ctypes.get_errno()


def attempt(function, *arguments):
    """What a function returns, or the number of its error."""
    try:
        return function(*arguments)
    except OSError as error:
        return error.errno


def mapped(path):
    """The address of a file's first page, mapped as all share it."""
    libc.mmap.restype = ctypes.c_void_p
    file = os.open(path, os.O_RDONLY)
    place = libc.mmap(None, ctypes.c_size_t(4096), 1, 1, file, ctypes.c_long(0))
    os.close(file)
    ctypes.string_at(place, 1)
    return place


def lines(path, *beginnings):
    try:
        with open(path) as file:
            return [line for line in file if line.startswith(beginnings)]
    except OSError as error:
        return error.errno
'''  # fmt: skip


def numbers(*names):
    """Numbers of system calls on this machine, by name; one may be unknown here."""
    import pyseccomp

    found = {name: pyseccomp.resolve_syscall(pyseccomp.system_arch(), name) for name in names}
    return {name: number for name, number in found.items() if number >= 0}


# what one does to get ready, what the other does, and what the first one sees of it
CHANNELS = {
    "a pseudo terminal": (
        "",
        "terminal, line = os.openpty()\nos.write(terminal, b'an answer')",
        "attempt(os.listdir, '/dev/pts')",
    ),
    "a lock on a file": (
        ("def free():\n"
        "    with open(FILE) as file: return attempt(fcntl.flock, file, fcntl.LOCK_EX | fcntl.LOCK_NB)"),
        "held = open(FILE)\nfcntl.flock(held, fcntl.LOCK_EX)",
        "free()",
    ),
    "a record's lock on a device": (
        ("def free():\n"
        "    with open('/dev/null', 'r+b') as file: return attempt(fcntl.lockf, file, fcntl.LOCK_EX | fcntl.LOCK_NB)"),
        "held = open('/dev/null', 'r+b')\nfcntl.lockf(held, fcntl.LOCK_EX)",
        "free()",
    ),
    "who holds a record's lock": (
        ("wanted = struct.pack('hhqqi', fcntl.F_WRLCK, 0, 0, 0, 0)\n"
        "def holder():\n"
        "    with open('/dev/zero', 'r+b') as file: return str(attempt(fcntl.fcntl, file, fcntl.F_GETLK, wanted))"),
        "held = open('/dev/zero', 'r+b')\nfcntl.lockf(held, fcntl.LOCK_EX)",
        "holder()",
    ),
    "an open file's lock on a device": (
        ("lock = struct.pack('hhqqi', fcntl.F_WRLCK, 0, 0, 0, 0)\n"
        "def free():\n"
        "    with open('/dev/full', 'r+b') as file: return type(attempt(fcntl.fcntl, file, 37, lock)).__name__"),
        "held = open('/dev/full', 'r+b')\nattempt(fcntl.fcntl, held, 37, struct.pack('hhqqi', fcntl.F_WRLCK, 0, 0, 0, 0))",
        "free()",
    ),
    "a lease, which is refused while others have a file open": (
        ("def lease():\n"
        "    with open(FILE) as file:\n"
        "        got = attempt(fcntl.fcntl, file, fcntl.F_SETLEASE, fcntl.F_WRLCK)\n"
        "        attempt(fcntl.fcntl, file, fcntl.F_SETLEASE, fcntl.F_UNLCK)\n"
        "        return got"),
        "held = open(FILE)",
        "lease()",
    ),
    "a notice of what is read": (
        "watch = libc.inotify_init1(os.O_NONBLOCK)\nlibc.inotify_add_watch(watch, FILE.encode(), 0xFFF)",
        "open(FILE).read()",
        "str(attempt(os.read, watch, 4096))",
    ),
    "a signal when a folder's file is read": (
        ("told = []\nsignal.signal(signal.SIGIO, lambda *_: told.append(1))\n"
        "folder = os.open(FOLDER, os.O_RDONLY)\nattempt(fcntl.fcntl, folder, fcntl.F_NOTIFY, 1)"),
        "open(FILE).read()",
        "time.sleep(0.1) or len(told)",
    ),
    "a wait on a page of a file": (
        ("woken = []\nplace = mapped(FILE)\nvalue = ctypes.cast(place, ctypes.POINTER(ctypes.c_uint)).contents.value\n"
        "def wait():\n"
        "    two = struct.pack('qq', 2, 0)\n"
        "    woken.append(call(FUTEX, place, 0, value, ctypes.c_char_p(two)))\n"
        "waits = threading.Thread(target=wait)\nwaits.start()\ntime.sleep(0.2)"),
        "call(FUTEX, mapped(FILE), 1, 100)",
        "waits.join() or woken",
    ),
    "a page of a file that is kept or let go": (
        ("open(FILE).read()\n"
        "def kept():\n"
        "    libc.mmap.restype, file = ctypes.c_void_p, os.open(FILE, os.O_RDONLY)\n"
        "    place = libc.mmap(None, ctypes.c_size_t(4096), 1, 1, file, ctypes.c_long(0))\n"
        "    page = ctypes.create_string_buffer(1)\n"
        "    return call(MINCORE, place, 4096, page), page.raw[0], libc.munmap(ctypes.c_void_p(place), 4096)"),
        "file = os.open(FILE, os.O_RDONLY)\nattempt(os.posix_fadvise, file, 0, 0, os.POSIX_FADV_DONTNEED)",
        "kept()",
    ),
    "a page of a file that is read only if it is kept": (
        "open(FILE).read()\nfile = os.open(FILE, os.O_RDONLY)",
        "file = os.open(FILE, os.O_RDONLY)\nattempt(os.posix_fadvise, file, 0, 0, os.POSIX_FADV_DONTNEED)",
        "attempt(os.preadv, file, [bytearray(1)], 0, os.RWF_NOWAIT)",
    ),
    "a page of a file that others have mapped": (
        ("place = mapped(FILE)\n"
        "def alone():\n"
        "    try:\n"
        "        with open('/proc/self/pagemap', 'rb') as file:\n"
        "            return file.seek(place // 4096 * 8) and struct.unpack('Q', file.read(8))[0] >> 56 & 1\n"
        "    except OSError as error:\n"
        "        return error.errno"),
        "place = mapped(FILE)",
        "alone()",
    ),
    "the same as sums": (
        ("place = mapped(FILE)\n"
        "def alone():\n"
        "    found = lines('/proc/self/smaps', f'{place:x}', 'Private_Clean', 'Shared_Clean')\n"
        "    if isinstance(found, int): return found\n"
        "    first = next(i for i, line in enumerate(found) if line.startswith(f'{place:x}'))\n"
        "    return found[first + 1 : first + 3]"),
        "place = mapped(FILE)",
        "alone()",
    ),
    "the time at which a device was changed": (
        "",
        "attempt(lambda: os.utime('/dev/null', ns=(time.time_ns(), time.time_ns())))",
        "os.stat('/dev/null').st_mtime_ns",
    ),
    "the time at which a device was changed to now": (
        "",
        "attempt(os.utime, '/dev/zero')",
        "os.stat('/dev/zero').st_mtime_ns",
    ),
    "how many sockets the machine has": (
        "",
        "held = [socket.socket() for _ in range(100)]",
        "[lines(f'/proc/{name}/net/sockstat', 'TCP') for name in ('self', f'self/task/{threading.get_native_id()}')]",
    ),
    "how many signals wait": (
        ("number = signal.SIGRTMIN + 1\nsignal.pthread_sigmask(signal.SIG_BLOCK, [number])\n"
        "def room():\n"
        "    count = 0\n"
        "    while count < 10**6 and not libc.sigqueue(os.getpid(), number, 0): count += 1\n"
        "    while libc.sigtimedwait(ctypes.byref((ctypes.c_ulong * 16)(1 << number - 1)), None, ctypes.byref((ctypes.c_long * 2)(0, 0))) > 0: pass\n"
        "    return count"),
        ("number = signal.SIGRTMIN + 1\nsignal.pthread_sigmask(signal.SIG_BLOCK, [number])\n"
        "for _ in range(100): libc.sigqueue(os.getpid(), number, 0)"),
        "room()",
    ),
    "how much room pipes have": (
        "",
        "held = [os.pipe() for _ in range(100)]\nfor _, end in held: attempt(fcntl.fcntl, end, 1031, 1 << 20)",
        "attempt(fcntl.fcntl, os.pipe()[1], 1031, 1 << 20)",
    ),
    "an abstract socket": (
        "",
        "held = socket.socket(socket.AF_UNIX)\nheld.bind(chr(0) + 'an answer')\nheld.listen()",
        "attempt(socket.socket(socket.AF_UNIX).connect, chr(0) + 'an answer')",
    ),
    "a port": (
        "",
        "held = socket.socket()\nheld.bind(('', 4321))",
        "attempt(socket.socket().bind, ('', 4321))",
    ),
    "files left in folders": (
        "places = [folder for folder, _, _ in os.walk('/') if not folder.startswith(('/usr', sys.prefix, sys.base_prefix))]",
        ("places = [folder for folder, _, _ in os.walk('/') if not folder.startswith(('/usr', sys.prefix, sys.base_prefix))]\n"
        "for place in places: attempt(lambda: open(place + '/left', 'w').close())"),
        "[place for place in places if os.path.exists(place + '/left')]",
    ),
}  # fmt: skip


@pytest.fixture(scope="module")
def zygote():
    yield sandboxed_kernels.own_kernels(bubblewrap.FULL)
    sandboxed_kernels.close()


@pytest.fixture
def kernels(zygote):
    """Two kernels that know the tools."""
    with KernelClient(zygote, Limits()) as one, KernelClient(zygote, Limits()) as other:
        calls = numbers("futex", "mincore")
        for kernel in (one, other):
            said(kernel, TOOLS + "".join(f"{name.upper()} = {calls[name]}\n" for name in calls))
        yield one, other


def said(kernel, code):
    """What a cell prints; it must end well."""
    shown = []
    done = kernel.run(textwrap.dedent(code), "id", lambda kind, content: shown.append(content))
    assert done.status == "ok", shown
    return "".join(content.get("text", "") for content in shown)


def answered(kernel, expression):
    return json.loads(said(kernel, f"print(json.dumps({expression}))"))


@pytest.mark.parametrize("channel", CHANNELS)
def test_neither_sees_what_the_other_does(kernels, channel):
    ready, act, look = CHANNELS[channel]
    one, other = kernels
    said(one, ready)
    before = answered(one, look)
    said(one, ready)
    other.run(act, "id", lambda *_: None)  # it may well fail
    assert answered(one, look) == before


# ------------------------------------------------------------------------ what no kernel may do

# to other processes, for other processes, or beyond what limits count
NO_CALLS = (
    "add_key", "bpf", "cachestat", "execve", "execveat", "fanotify_init", "fork", "inotify_add_watch",
    "inotify_init", "inotify_init1", "io_setup", "io_uring_setup", "kcmp", "keyctl", "landlock_create_ruleset",
    "memfd_create", "memfd_secret", "migrate_pages", "mincore", "mount", "move_pages", "mq_open", "msgget",
    "name_to_handle_at", "open_tree", "openat2", "perf_event_open", "pidfd_getfd", "pidfd_open",
    "process_madvise", "process_vm_readv", "process_vm_writev", "ptrace", "readahead", "request_key", "semget",
    "setns", "shmget", "splice", "statmount", "syncfs", "sysinfo", "syslog", "tee", "timer_create",
    "unshare", "userfaultfd", "vfork", "vmsplice",
)  # fmt: skip


def test_calls_that_no_notebook_needs_are_refused(kernels):
    known = numbers(*NO_CALLS)
    assert len(known) > 40
    got = answered(kernels[0], f"{{name: call(n, 0, 0, 0, 0, 0) for name, n in {known}.items()}}")
    assert {name: error for name, error in got.items() if -error not in (errno.EPERM, errno.ENOSYS)} == {}  # fmt: skip


def test_only_families_of_sockets_that_a_namespace_divides_are_there(kernels):
    one, _ = kernels
    said(one, f"SOCKET, KINDS = {numbers('socket')['socket']}, (1, 2, 3, 5)")
    plain = {socket.AF_UNIX, socket.AF_INET, socket.AF_INET6}
    for above in (0, 1 << 32):  # Linux reads 32 bits of what it is given
        opened = f"any(call(SOCKET, family | {above}, kind, 0) >= 0 for kind in KINDS)"
        assert set(answered(one, f"[family for family in range(64) if {opened}]")) <= plain
    assert answered(one, "[attempt(lambda: socket.socket(family).family) for family in (1, 2)]") == [1, 2]  # fmt: skip


PDEATHSIG = "got = ctypes.c_int(9)\nlibc.prctl(2, ctypes.byref(got))"


@pytest.mark.parametrize("above", [0, 1 << 32, 1 << 63])
def test_no_kernel_outlives_its_guard(kernels, above):
    one, _ = kernels
    said(one, f"call({numbers('prctl')['prctl']}, 1 | {above}, 0, 0, 0, 0)\n{PDEATHSIG}")
    assert answered(one, "got.value") == 9


@pytest.mark.parametrize("above", [0, 1 << 32])
def test_pages_of_memory_are_not_merged_with_those_of_others(kernels, above):
    one, _ = kernels
    said(one, "libc.mmap.restype = ctypes.c_void_p\nroom = libc.mmap(None, 8192, 3, 0x22, -1, 0)")
    assert answered(one, f"call({numbers('madvise')['madvise']}, room, 8192, 12 | {above})") < 0


def test_every_device_is_one_that_nobody_can_mark(kernels):
    one, _ = kernels
    assert answered(one, "sorted(os.listdir('/dev'))") == [
        "fd", "full", "null", "random", "stderr", "stdin", "stdout", "urandom", "zero",
    ]  # fmt: skip
    devices = "('null', 'zero', 'full', 'random', 'urandom')"
    assert answered(one, f"[os.statvfs('/dev/' + name).f_flag & os.ST_RDONLY for name in {devices}]") == [1] * 5  # fmt: skip
    for change in ("os.chmod(path, 0o666)", "os.utime(path)", "os.chown(path, 1000, 1000)"):
        marked = f"[attempt(lambda: {change.replace('path', repr('/dev/zero'))})]"
        assert answered(one, marked) == [errno.EROFS]
    assert answered(one, "[open('/dev/null', 'w').write('gone'), len(open('/dev/urandom', 'rb').read(9))]") == [4, 9]  # fmt: skip


def test_of_proc_there_is_only_what_concerns_the_kernel_itself(kernels):
    one, _ = kernels
    assert answered(one, "sorted(os.listdir('/proc'))") == ["cpuinfo", "meminfo", "self"]
    assert answered(one, "sorted(os.listdir('/proc/self'))") == sorted({*confine.OF_ITSELF, "exe"})
    assert answered(one, "len(lines('/proc/self/maps', '')) > 100")
    written = "[attempt(open, '/proc/left', 'w'), attempt(open, '/proc/self/left', 'w')]"
    assert set(answered(one, written)) <= {errno.EROFS, errno.ENOENT, errno.EACCES}


def test_what_is_told_of_the_machine_is_as_it_was_before_the_first_submission(kernels):
    one, other = kernels
    told = "[lines(path, '') for path in ('/proc/cpuinfo', '/proc/meminfo')]"
    first = answered(one, told)
    assert any("MemTotal" in line for line in first[1])
    said(
        other,
        "hoard = bytearray(500 << 20)\nfor place in range(0, 500 << 20, 4096): hoard[place] = 1",
    )
    assert answered(one, told) == first


# ------------------------------------------------------------- what all kernels have to share out

MAKE = {
    "files": "open(f'{place}/{number}', 'w').close()",
    "folders": "os.mkdir(f'{place}/{number}')",
    "links": "os.symlink('nowhere', f'{place}/{number}')",
    "hard links": "os.link('/tmp/one', f'{place}/{number}')",
    "pipes": "os.mkfifo(f'{place}/{number}')",
}


@pytest.mark.parametrize("kind", MAKE)
def test_empty_files_are_counted(kernels, kind):
    one, _ = kernels
    code = (
        "open('/tmp/one', 'w').close()\nmade = {}\nfor place in ('/tmp', '/proc', '/box', '/'):\n"
    )
    code += "    try:\n        for number in range(40_000):\n            made[place] = number\n"
    said(one, code + f"            {MAKE[kind]}\n    except OSError: pass")
    made = answered(one, "made")
    assert 1000 < made.pop("/tmp") <= Limits().entries
    assert set(made.values()) == {0}


THREADS = """
import threading, time
threading.stack_size(1 << 15)
for _ in range({}): threading.Thread(target=time.sleep, args=(60,), daemon=True).start()
time.sleep(1)
"""


def test_threads_are_counted_for_each_kernel_alone(kernels):
    one, other = kernels
    said(other, THREADS.format(Limits().threads - 20))
    said(one, THREADS.format(Limits().threads - 20))
    with pytest.raises(KernelDied):
        said(one, THREADS.format(20_000))
    assert answered(other, "threading.active_count()") > Limits().threads - 20
