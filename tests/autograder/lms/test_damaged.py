"""An archive of which a student packed some entries: each that cannot be read is refused, and no other."""

import contextlib
import lzma
import resource
import struct
import time
import zipfile
import zlib
from dataclasses import dataclass, replace

import pytest

from autograder.bounds import LARGEST_FILE
from autograder.errors import CourseError
from autograder.lms import archives
from autograder.lms import unpack as unpacking
from autograder.lms.archives import Archive
from autograder.lms.canvas import submitted_file
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
    "more than the list says": Entry(size=10),
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
    assert (
        f"attempts of one student with more than {LARGEST_FILE >> 20} MiB"
        in capsys.readouterr().out
    )


ODD_NAMES = {
    "a number of Canvas's without end": f"ada_101_{'9' * 4301}_{NOTEBOOK}",
    "a number behind the name without end": f"ada_101_1_{ASSIGNMENT}-{'9' * 4301}.ipynb",
    "a number of the person without end": f"ada_{'9' * 4301}_1_{NOTEBOOK}",
    "numbers without end": f"ada{'_1' * 30_000}_{NOTEBOOK}",
    "numbers in a short name": f"ada{'_1' * 100}_{NOTEBOOK}",
    "Moodle's, without end": f"ada_{'9' * 4301}_assignsubmission_file_{'x' * 5000}.ipynb",
}


@pytest.mark.parametrize("kind", ODD_NAMES)
def test_a_name_without_end_is_refused_at_once_and_the_next_is_read(kind, tmp_path, capsys):
    course = course_with(tmp_path / "course", {})
    path = archive(tmp_path / "s.zip", {ODD_NAMES[kind]: TEXT, f"zoe_999_5999_{NOTEBOOK}": TEXT})
    start = time.process_time()
    with contextlib.closing(Archive(path)) as opened:
        files, [refused] = opened.files()
    assert time.process_time() - start < 5  # a hundredth of one, if it is not read over and over
    assert refused.path == ODD_NAMES[kind] and "name" in refused.why and len(files) == 1
    assert lms(course, "unpack", path) == 1
    placed = list((course / "submitted").rglob("*.ipynb"))
    assert placed == [course / "submitted" / "999" / ASSIGNMENT / NOTEBOOK]
    assert refused.why in capsys.readouterr().out


def test_numbers_that_no_platform_writes_are_none():
    digits = "9" * 4301
    assert submitted_file(f"ada_101_{digits}_{NOTEBOOK}") is None
    for own in (f"{ASSIGNMENT}-{digits}.ipynb", f"{ASSIGNMENT} ({digits}).ipynb"):
        file = replace(submitted_file(f"ada_101_1_{NOTEBOOK}"), own=own)
        assert unpacking._title(file) == (own.removesuffix(".ipynb"), 0)


def test_a_name_is_nobodys_rather_than_anothers_where_ways_of_reading_it_are_left_out():
    """Of a few numbers each counts; of many, the person's own might be left out."""
    few, many = (f"li{'_103' * number}_{NOTEBOOK}" for number in (11, 12))
    assert len(submitted_file(few).others) == 9
    assert submitted_file(many) is None


def test_whatever_goes_wrong_with_one_students_work_stops_nobody(tmp_path, capsys, monkeypatch):
    real = unpacking._title

    def fails_for_ada(file):
        if file.number == "101":
            raise RuntimeError("nobody has thought of this")
        return real(file)

    monkeypatch.setattr(unpacking, "_title", fails_for_ada)
    course = course_with(tmp_path / "course", {})
    path = archive(
        tmp_path / "s.zip", {f"ada_101_1_{NOTEBOOK}": TEXT, f"ben_102_2_{NOTEBOOK}": TEXT}
    )
    assert lms(course, "unpack", path) == 1
    assert (course / "submitted" / "102" / ASSIGNMENT / NOTEBOOK).read_bytes() == TEXT
    said = capsys.readouterr().out
    assert "101: it cannot be unpacked (RuntimeError: nobody has thought of this)" in said


@pytest.mark.parametrize(
    "beside",
    [{"x.csv": b"0" * (1 << 18)}, {f"{number}.csv": b"" for number in range(64)}],
    ids=["a large file", "many files"],
)
def test_what_lies_beside_counts_for_each_attempt(beside, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(unpacking, "LARGEST_FILE", 1 << 20)
    course = course_with(tmp_path / "course", {})
    attempts = {f"ada_101_{number}_{ASSIGNMENT}-{number}.ipynb": b"%d" % number for number in range(100, 120)}  # fmt: skip
    others = {f"ada_101_99_{name}": data for name, data in beside.items()}
    lms(course, "unpack", archive(tmp_path / "s.zip", {**attempts, **others}))
    place = course / "submitted" / "101" / ASSIGNMENT
    assert (place / NOTEBOOK).read_bytes() == b"119"
    assert {path.name for path in place.iterdir()} == {NOTEBOOK, *beside}
    kept = sorted(path.read_bytes() for path in (course / "grading").rglob(NOTEBOOK))
    assert kept == [b"117", b"118"]
    assert "attempts of one student with more than" in capsys.readouterr().out


@pytest.mark.parametrize("more", [0, 1], ids=["as large as may be", "too large"])
@pytest.mark.parametrize("name", ["x{}.csv", ASSIGNMENT + "-{}.ipynb"], ids=["files", "attempts"])
def test_what_cannot_be_kept_is_not_even_unpacked(name, more, tmp_path, monkeypatch):
    most = 1 << 20
    for module in (archives, unpacking):
        monkeypatch.setattr(module, "LARGEST_FILE", most)
        monkeypatch.setattr(module, "LARGEST_FILES", most)
    read = []
    real = zipfile.ZipExtFile.read

    def counted(self, *most):
        data = real(self, *most)
        read.append(len(data))
        return data

    monkeypatch.setattr(zipfile.ZipExtFile, "read", counted)
    course = course_with(tmp_path / "course", {})
    bombs = {
        f"ada_101_{number}_{name.format(number)}": b"0" * (most + more) for number in range(20)
    }
    small = {f"ada_101_30_{ASSIGNMENT}-30.ipynb": TEXT, "ada_101_31_small.csv": b"1"}
    lms(course, "unpack", archive(tmp_path / "s.zip", {**bombs, **small}))
    assert sum(read) <= most + len(TEXT) + 1
    place = course / "submitted" / "101" / ASSIGNMENT
    assert (place / NOTEBOOK).read_bytes() == TEXT
    if more:
        assert (place / "small.csv").read_bytes() == b"1"


@pytest.mark.parametrize("damage", [slice(-22, -4), slice(0, None), slice(-80, None)])
def test_an_archive_without_a_list_is_said_to_be_none(damage, tmp_path):
    data = bytearray(archive(tmp_path / "s.zip", {f"ada_101_1_{NOTEBOOK}": TEXT}).read_bytes())
    data[damage] = b"\xff" * len(data[damage])
    (tmp_path / "s.zip").write_bytes(data)
    with pytest.raises(CourseError, match="Download it again"):
        Archive(tmp_path / "s.zip")
