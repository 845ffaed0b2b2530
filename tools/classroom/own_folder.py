"""Write as root into a folder of somebody else's account, who may put links there at any moment.

Everything is opened by the descriptor of the folder above, and no link is followed. So root changes nothing but
what lies in that folder, whatever its owner does meanwhile.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import stat
from collections.abc import Callable, Collection, Iterator
from pathlib import Path

from tools.classroom.settings import ClassroomError

FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW
PLAIN = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK
NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW


class OwnFolder:
    """An open folder, all of which belongs to one account.

    Args:
        descriptor: of the folder, as `FOLDER` opens it.
        path: where it lies, for messages.
        owner: numbers of the account and of its group.
    """

    def __init__(self, descriptor: int, path: Path, owner: tuple[int, int]) -> None:
        self.descriptor, self.path, self.owner = descriptor, path, owner

    @contextlib.contextmanager
    def below(self, name: str, mode: int = 0o755) -> Iterator[OwnFolder]:
        """The folder of this name in it, made if it is not there, with this mode.

        Raises:
            ClassroomError: a link, or something else that is no folder, has that name.
        """
        with contextlib.suppress(FileExistsError):
            os.mkdir(name, dir_fd=self.descriptor)
        with opened(self.path / name, self.owner, mode, name, self.descriptor) as folder:
            yield folder

    def has(self, name: str) -> bool:
        """Whether anything of this name is in it, be it a link that leads nowhere."""
        try:
            os.lstat(name, dir_fd=self.descriptor)
        except FileNotFoundError:
            return False
        return True

    def write(self, name: str, content: bytes, mode: int = 0o644) -> None:
        """Write a file, in place of whatever has its name; a link is replaced, and what it names stays.

        Raises:
            ClassroomError: a folder has that name.
        """
        aside = f".{secrets.token_hex(8)}"
        descriptor = os.open(aside, NEW, 0o600, dir_fd=self.descriptor)
        with open(descriptor, "wb") as file:
            file.write(content)
            os.fchown(descriptor, *self.owner)
            os.fchmod(descriptor, mode)
        self._put(aside, name)

    def link(self, name: str, target: Path) -> None:
        """Put a link, in place of whatever has its name.

        Raises:
            ClassroomError: a folder has that name.
        """
        aside = f".{secrets.token_hex(8)}"
        os.symlink(target, aside, dir_fd=self.descriptor)
        self._put(aside, name)

    def _put(self, aside: str, name: str) -> None:
        """Give a new file its name."""
        try:
            os.rename(aside, name, src_dir_fd=self.descriptor, dst_dir_fd=self.descriptor)
        except OSError as error:
            os.unlink(aside, dir_fd=self.descriptor)
            raise ClassroomError(
                f"expected a file {self.path / name}, found a folder. Remove it"
            ) from error

    def copy(
        self, source: Path, left_out: Callable[[str, list[str]], Collection[str]] = lambda *_: ()
    ) -> None:
        """Copy what is in a folder of root's, over what is here.

        Args:
            source: the folder.
            left_out: see `shutil.copytree`.
        """
        names = sorted(os.listdir(source))
        skipped = left_out(str(source), names)
        for name in names:
            path = source / name
            if name in skipped:
                continue
            if path.is_dir():
                with self.below(name) as folder:
                    folder.copy(path, left_out)
            else:
                self.write(name, path.read_bytes(), stat.S_IMODE(path.stat().st_mode))

    def take(self) -> None:
        """Give everything in it to the account, but for links and for files that also lie elsewhere."""
        for name in os.listdir(self.descriptor):
            try:
                descriptor = os.open(name, PLAIN, dir_fd=self.descriptor)
            except OSError:  # a link, a pipe without an end, or gone since
                continue
            try:
                status = os.fstat(descriptor)
                if stat.S_ISDIR(status.st_mode):
                    os.fchown(descriptor, *self.owner)
                    OwnFolder(descriptor, self.path / name, self.owner).take()
                elif stat.S_ISREG(status.st_mode) and status.st_nlink == 1:
                    os.fchown(descriptor, *self.owner)
            finally:
                os.close(descriptor)


@contextlib.contextmanager
def opened(
    path: Path, owner: tuple[int, int], mode: int, name: str = "", above: int | None = None
) -> Iterator[OwnFolder]:
    """A folder that is there, given to an account with a mode.

    Args:
        path: where it lies.
        owner: numbers of the account and of its group.
        mode: for the folder itself.
        name, above: its name, and the descriptor of the folder above; the path alone if these are not given.

    Raises:
        ClassroomError: it is a link, or no folder.
    """
    try:
        descriptor = os.open(name or path, FOLDER, dir_fd=above)
    except OSError as error:
        raise ClassroomError(
            f"expected a folder {path}, found a link or something else ({error.strerror}). Root follows no link "
            "into what another account owns. Remove it, then start again"
        ) from None
    try:
        os.fchown(descriptor, *owner)
        os.fchmod(descriptor, mode)
        yield OwnFolder(descriptor, path, owner)
    finally:
        os.close(descriptor)
