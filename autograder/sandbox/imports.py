"""What a notebook may import beside the libraries: files that were read as its cells are, as they were read.

Wherever Python did not look before the notebook began, it finds no other file: neither one that a cell names
in pieces, nor one that was written or changed since, nor what is compiled or packed.
"""

from __future__ import annotations

import os
import sys
from importlib.machinery import FileFinder, SourceFileLoader
from pathlib import Path

UNREAD = (
    "`{name}` lies beside the notebook, but was not read with it, so it cannot be imported here: write its "
    "name in a cell, and hand it in with the content that it is to have"
)


class Imports:
    """The files that may be imported of a notebook's folder."""

    def __init__(self, folder: Path) -> None:
        contents: dict[str, bytes] = {}
        # of what lies here, libraries are found as they always were
        known = [os.path.realpath(place) for place in sys.path if place]

        class Loader(SourceFileLoader):
            """Takes a source as it was read, whatever stands in its file now, and nothing compiled."""

            def get_data(self, path: str) -> bytes:
                if path in contents:
                    return contents[path]
                if path.endswith(".py"):
                    raise ImportError(UNREAD.format(name=Path(path).name), path=path)
                raise OSError(f"{path} is not read")

        def finder(place: str) -> FileFinder:
            path = os.path.realpath(place)
            if any(os.path.commonpath([path, one]) == one for one in known):
                raise ImportError(f"{place} is a library's")
            return FileFinder(path, (Loader, [".py"]))

        self._folder, self._contents, self._finder = os.path.realpath(folder), contents, finder

    def restrict(self) -> None:
        """From now on, nothing else is imported but what libraries have."""
        sys.path_hooks.insert(0, self._finder)
        sys.path_importer_cache.clear()

    def let(self, name: str, content: bytes) -> None:
        """Let a file beside the notebook be imported by its plain relative name, with this content."""
        self._contents[os.path.join(self._folder, name)] = content
        for finder in list(sys.path_importer_cache.values()):
            if isinstance(finder, FileFinder):
                finder.invalidate_caches()
