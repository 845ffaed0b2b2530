"""The system calls that a kernel may make: those that a notebook needs, and no others.

A list of what is refused would always lack what Linux learns next year. What is on no list here
fails as it does on a system that does not have it, so libraries fall back to what is.
"""

from __future__ import annotations

import errno
from collections.abc import Iterable
from functools import cache

import pyseccomp

from autograder.sandbox.namespaces import CLONE_THREAD

FILES = (
    "access", "chdir", "chmod", "chown", "close", "close_range", "copy_file_range", "creat", "dup", "dup2",
    "dup3", "faccessat", "faccessat2", "fallocate", "fchdir", "fchmod", "fchmodat", "fchmodat2", "fchown",
    "fchownat", "fdatasync", "fgetxattr", "flistxattr", "fstat", "fstatfs", "fsync", "ftruncate", "futimesat",
    "getcwd", "getdents", "getdents64", "getxattr", "lchown", "lgetxattr", "link", "linkat", "listxattr",
    "llistxattr", "lseek", "lstat", "mkdir", "mkdirat", "mknod", "mknodat", "newfstatat", "open", "openat",
    "pipe", "pipe2", "pread64", "preadv", "pwrite64", "pwritev", "read", "readlink", "readlinkat", "readv",
    "rename", "renameat", "renameat2", "rmdir", "sendfile", "stat", "statfs", "statx", "symlink", "symlinkat",
    "truncate", "umask", "unlink", "unlinkat", "utime", "utimensat", "utimes", "write", "writev",
)  # fmt: skip

MEMORY = (
    "brk", "mlock", "mlock2", "mlockall", "mmap", "mprotect", "mremap", "msync", "munlock", "munlockall",
    "munmap",
)  # fmt: skip

# of the kernel itself, its threads, its time and what it waits for
ITSELF = (
    "alarm", "arch_prctl", "clock_getres", "clock_gettime", "clock_nanosleep", "epoll_create",
    "epoll_create1", "epoll_ctl", "epoll_pwait", "epoll_pwait2", "epoll_wait", "eventfd", "eventfd2", "exit",
    "exit_group", "get_robust_list", "getcpu", "getegid", "geteuid", "getgid", "getgroups", "getitimer",
    "getpgid", "getpgrp", "getpid", "getppid", "getpriority", "getrandom", "getresgid", "getresuid",
    "getrlimit", "getrusage", "getsid", "gettid", "gettimeofday", "getuid", "kill", "nanosleep", "pause",
    "poll", "ppoll", "prlimit64", "pselect6", "restart_syscall", "riscv_flush_icache", "riscv_hwprobe", "rseq",
    "rt_sigaction", "rt_sigpending", "rt_sigprocmask", "rt_sigreturn", "rt_sigsuspend", "rt_sigtimedwait",
    "sched_get_priority_max", "sched_get_priority_min", "sched_getaffinity", "sched_getparam",
    "sched_getscheduler", "sched_rr_get_interval", "sched_yield", "select", "set_robust_list", "setitimer",
    "setpgid", "setpriority", "setrlimit", "setsid", "sigaltstack", "signalfd", "signalfd4", "tgkill", "time",
    "timerfd_create", "timerfd_gettime", "timerfd_settime", "times", "tkill", "uname", "wait4", "waitid",
)  # fmt: skip

# of its own network, which has nobody else in it
SOCKETS = (
    "accept", "accept4", "bind", "connect", "getpeername", "getsockname", "getsockopt", "listen", "recvfrom",
    "recvmmsg", "recvmsg", "sendmmsg", "sendmsg", "sendto", "setsockopt", "shutdown",
)  # fmt: skip

# what people know, so the message should be known, too
NOT_PERMITTED = ("execve", "execveat", "fork", "vfork")

LOW, LOWER = 0xFFFFFFFF, 0xFF  # bits that Linux reads of a number in a register of 64

AF_UNIX, AF_INET, AF_INET6 = 1, 2, 10
ANY, TCP, UDP = 0, 6, 17
# to look, to wait, to close at the next program, and how large a terminal is
IOCTLS = {"TCGETS": 0x5401, "TIOCGWINSZ": 0x5413, "FIONREAD": 0x541B, "FIONBIO": 0x5421,
          "FIONCLEX": 0x5450, "FIOCLEX": 0x5451}  # fmt: skip
FCNTLS = {"F_DUPFD": 0, "F_GETFD": 1, "F_SETFD": 2, "F_GETFL": 3, "F_SETFL": 4,
          "F_DUPFD_CLOEXEC": 1030, "F_GETPIPE_SZ": 1032}  # fmt: skip
LOCKS = {"F_SETLK": 6, "F_SETLKW": 7, "F_OFD_SETLK": 37, "F_OFD_SETLKW": 38}
PRCTLS = {"PR_GET_PDEATHSIG": 2, "PR_GET_DUMPABLE": 3, "PR_SET_NAME": 15, "PR_GET_NAME": 16,
          "PR_SET_NO_NEW_PRIVS": 38, "PR_GET_NO_NEW_PRIVS": 39, "PR_SET_VMA": 0x53564D41}  # fmt: skip
# not: to merge equal pages of all processes, or to send those of a file to the disk
ADVICE = {"NORMAL": 0, "RANDOM": 1, "SEQUENTIAL": 2, "WILLNEED": 3, "DONTNEED": 4, "FREE": 8,
          "DONTFORK": 10, "DOFORK": 11, "HUGEPAGE": 14, "NOHUGEPAGE": 15, "DONTDUMP": 16, "DODUMP": 17,
          "POPULATE_READ": 22, "POPULATE_WRITE": 23}  # fmt: skip
FUTEX_WAIT, FUTEX_WAKE, FUTEX_WAIT_BITSET, FUTEX_WAKE_BITSET, FUTEX_PRIVATE = 0, 1, 9, 10, 128


@cache
def system_calls() -> pyseccomp.SyscallFilter:
    """A filter, made before the fork and loaded after it."""
    calls = pyseccomp.SyscallFilter(pyseccomp.ERRNO(errno.ENOSYS))
    calls.set_attr(pyseccomp.Attr.ACT_BADARCH, pyseccomp.KILL_PROCESS)
    for name in (*FILES, *MEMORY, *ITSELF, *SOCKETS):
        _add(calls, pyseccomp.ALLOW, name)
    for name in NOT_PERMITTED:
        _add(calls, pyseccomp.ERRNO(errno.EPERM), name)
    _threads(calls)
    _own_sockets(calls)
    _choose(calls, "ioctl", IOCTLS.values())
    _choose(calls, "prctl", PRCTLS.values(), place=0)
    _choose(calls, "madvise", ADVICE.values(), place=2)
    _choose(calls, "fcntl", FCNTLS.values())
    # a lock on what all can read would be seen by all; alone in its files, a process has every lock
    done = pyseccomp.ERRNO(0)
    _choose(calls, "fcntl", LOCKS.values(), action=done)
    _add(calls, done, "flock")
    # which pages of files are kept in memory would be seen by all
    _add(calls, done, "fadvise64")
    return calls


def _threads(calls: pyseccomp.SyscallFilter) -> None:
    """Threads may start, processes may not; and threads wait for none but each other.

    The C library falls back from clone3 to clone, whose flags a filter can read. It waits for a
    thread's end as if other processes did so, too: it then looks again and again instead.
    """
    _add(calls, pyseccomp.ALLOW, "clone", _bits(0, CLONE_THREAD, CLONE_THREAD))
    _add(calls, pyseccomp.ERRNO(errno.EPERM), "clone", _bits(0, CLONE_THREAD, 0))
    _add(calls, pyseccomp.ALLOW, "futex", _bits(1, FUTEX_PRIVATE, FUTEX_PRIVATE))
    for operation in (FUTEX_WAIT, FUTEX_WAIT_BITSET):
        _add(calls, pyseccomp.ERRNO(errno.EAGAIN), "futex", _bits(1, LOWER, operation))
    for operation in (FUTEX_WAKE, FUTEX_WAKE_BITSET):  # nobody waits
        _add(calls, pyseccomp.ERRNO(0), "futex", _bits(1, LOWER, operation))


def _own_sockets(calls: pyseccomp.SyscallFilter) -> None:
    """Of sockets, the families and protocols that a namespace keeps apart."""
    for name in ("socket", "socketpair"):
        _add(calls, pyseccomp.ALLOW, name, _bits(0, LOW, AF_UNIX))
    for family in (AF_INET, AF_INET6):
        for protocol in (ANY, TCP, UDP):
            _add(calls, pyseccomp.ALLOW, "socket", _bits(0, LOW, family), _bits(2, LOW, protocol))


def _choose(
    calls: pyseccomp.SyscallFilter,
    name: str,
    values: Iterable[int],
    place: int = 1,
    action: int = pyseccomp.ALLOW,
) -> None:
    """Of a call that does many things, let those happen which a number in its arguments asks for."""
    for value in values:
        _add(calls, action, name, _bits(place, LOW, value))


def _bits(place: int, mask: int, value: int) -> pyseccomp.Arg:
    return pyseccomp.Arg(place, pyseccomp.MASKED_EQ, mask, value)


def _add(calls: pyseccomp.SyscallFilter, action: int, name: str, *arguments: pyseccomp.Arg) -> None:
    if pyseccomp.resolve_syscall(pyseccomp.system_arch(), name) >= 0:  # else unknown here
        calls.add_rule(action, name, *arguments)
