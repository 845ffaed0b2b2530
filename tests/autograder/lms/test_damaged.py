"""An archive of which a student packed some entries: each that cannot be read is refused, and no other."""

import contextlib
import lzma
import resource
import struct
import zipfile
import zlib
from dataclasses import dataclass

import pytest

from autograder.bounds import LARGEST_FILE
from autograder.errors import CourseError
from autograder.lms.archives import Archive
from tests.autograder.lms import archive, course_with, lms
from tests.sample_class import ASSIGNMENT

NOTEBOOK = f"{ASSIGNMENT}.ipynb"
TEXT = b'{"cells": []}' * 50


def deflated(text=TEXT):
    packer = zlib.compressobj(wbits=-15)
    return packer.compress(text) + packer.flush()


def as_lzma(header):
    """What zip stores of LZMA: a version, the length of the header, the header, and the packed text."""
    packed = lzma.compress(
        TEXT, lzma.FORMAT_RAW, filters=[{"id": lzma.FILTER_LZMA1, "dict_size": 1 << 16}]
    )
    return struct.pack("<BBH", 9, 4, len(header)) + header + packed


@dataclass
class Entry:
    """An entry as the bytes of an archive say it, true or not."""

    packed: bytes = deflated()
    method: int = zipfile.ZIP_DEFLATED
    checksum: int = zlib.crc32(TEXT)
    size: int = len(TEXT)
    listed_method: int = -1  # in the archive's list; as before the entry itself if it is below 0
    local: bytes = b"PK\x03\x04"
    away: int = 0  # how far from where the list says it stands


def written(path, entries):
    body, listed = b"", b""
    for name, entry in entries.items():
        raw = name.encode()
        fields = entry.checksum, len(entry.packed), entry.size, len(raw)
        method = entry.method if entry.listed_method < 0 else entry.listed_method
        listed += struct.pack("<4s6H3L5H2L", b"PK\x01\x02", 20, 20, 0x800, method, 0, 33, *fields, 0, 0, 0,
                              0, 0, len(body) + entry.away) + raw  # fmt: skip
        body += struct.pack("<4s5H3L2H", entry.local, 20, 0x800, entry.method, 0, 33, *fields, 0)
        body += raw + entry.packed
    end = struct.pack("<4s4H2LH", b"PK\x05\x06", 0, 0, len(entries), len(entries), len(listed), len(body), 0)  # fmt: skip
    path.write_bytes(body + listed + end)
    return path


ODD = {
    "lzma with a damaged header": Entry(as_lzma(b"\xff\x00\x00\x01\x00"), zipfile.ZIP_LZMA),
    "lzma with no header": Entry(b"", zipfile.ZIP_LZMA),
    "lzma with a dictionary of 4 GiB": Entry(as_lzma(b"\x5d\xff\xff\xff\xff"), zipfile.ZIP_LZMA),
    "bzip2": Entry(b"BZh9" + b"\x00" * 50, zipfile.ZIP_BZIP2),
    "deflate64": Entry(method=9),
    "ppmd": Entry(b"\xff" * 50, 98),
    "xz": Entry(lzma.compress(TEXT), 95),
    "no way of packing": Entry(method=0xFFFF),
    "listed as another way than it is packed": Entry(
        as_lzma(b"\x5d\xff\xff\xff\xff"), zipfile.ZIP_LZMA, listed_method=zipfile.ZIP_DEFLATED
    ),
    "deflate that is none": Entry(b"\xff" * 50),
    "deflate that ends early": Entry(deflated()[:10]),
    "a wrong checksum": Entry(checksum=1),
    "no entry where the list says": Entry(local=b"none"),
    "beyond the end": Entry(away=1 << 20),
    "within another": Entry(away=7),
}


@pytest.mark.parametrize("kind", ODD)
def test_an_odd_entry_is_refused_with_a_reason_and_the_next_is_read(kind, tmp_path):
    names = [f"ada_101_5001_{NOTEBOOK}", f"ben_102_5002_{NOTEBOOK}"]
    path = written(tmp_path / "s.zip", {names[0]: ODD[kind], names[1]: Entry()})
    with contextlib.closing(Archive(path)) as opened:
        files, refused = opened.files()
        read = {file.path: opened.read(file) for file in files}
    assert read.pop(names[1]) == TEXT
    reasons = {item.path: str(item) for item in [*refused, *read.values()]}
    assert list(reasons) == [names[0]]
    assert "packed in a way" in reasons[names[0]] or "cannot be unpacked" in reasons[names[0]]


def test_students_behind_odd_entries_are_unpacked(tmp_path, capsys):
    course = course_with(tmp_path / "course", {})
    entries = {f"odd_{number}_50{number}_{NOTEBOOK}": ODD[kind] for number, kind in enumerate(ODD, 200)}  # fmt: skip
    path = written(tmp_path / "s.zip", {**entries, f"zoe_999_5999_{NOTEBOOK}": Entry()})
    lms(course, "unpack", path)
    placed = list((course / "submitted").rglob("*.ipynb"))
    assert placed == [course / "submitted" / "999" / ASSIGNMENT / NOTEBOOK]
    said = capsys.readouterr().out
    assert said.count("cannot be unpacked") + said.count("packed in a way") >= len(ODD)


def test_a_folder_that_cannot_be_written_is_that_students_alone(tmp_path, capsys):
    course = course_with(tmp_path / "course", {})
    (course / "submitted").mkdir(exist_ok=True)
    (course / "submitted" / "101").write_text("", encoding="ascii")
    path = archive(
        tmp_path / "s.zip", {f"ada_101_1_{NOTEBOOK}": TEXT, f"ben_102_2_{NOTEBOOK}": TEXT}
    )
    lms(course, "unpack", path)
    assert (course / "submitted" / "102" / ASSIGNMENT / NOTEBOOK).read_bytes() == TEXT
    assert "101: its folder cannot be written" in capsys.readouterr().out


def test_many_large_attempts_of_one_student_are_not_held_at_once(tmp_path, capsys):
    course = course_with(tmp_path / "course", {})
    large = b" " * (LARGEST_FILE // 2)
    names = [f"ada_101_{number}_{ASSIGNMENT}-{number}.ipynb" for number in range(1, 13)]
    path = archive(tmp_path / "s.zip", {name: b"%d" % number + large for number, name in enumerate(names, 1)})  # fmt: skip
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    lms(course, "unpack", path)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 400 << 10
    place = course / "submitted" / "101" / ASSIGNMENT / NOTEBOOK
    assert place.read_bytes()[:2] == b"12"
    assert "attempts of one student with more than 48 MiB" in capsys.readouterr().out


@pytest.mark.parametrize("damage", [slice(-22, -4), slice(0, None), slice(-80, None)])
def test_an_archive_without_a_list_is_said_to_be_none(damage, tmp_path):
    data = bytearray(archive(tmp_path / "s.zip", {f"ada_101_1_{NOTEBOOK}": TEXT}).read_bytes())
    data[damage] = b"\xff" * len(data[damage])
    (tmp_path / "s.zip").write_bytes(data)
    with pytest.raises(CourseError, match="Download it again"):
        Archive(tmp_path / "s.zip")
