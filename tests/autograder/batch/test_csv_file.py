"""A platform's table is read as Python's csv module reads it, and keeps every byte that is not changed."""

import csv
import io
import random
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autograder.batch.csv_file import TableError, as_number, number_in, read_table

CELL = st.text(alphabet='ab ",;\t\r\n=ü-1', max_size=8)


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    return tmp_path_factory.mktemp("tables") / "export.csv"


def table_in(file, data):
    file.write_bytes(data)
    return read_table(file)


def values(table):
    return [row.values for row in (table.head, *table.rows)]


@given(
    rows=st.lists(st.lists(CELL, min_size=3, max_size=3), max_size=4),
    separator=st.sampled_from(",;\t"),
    line_end=st.sampled_from(["\n", "\r\n", "\r"]),
    quoting=st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL]),
    mark=st.sampled_from([("utf-8", b""), ("utf-8", b"\xef\xbb\xbf"), ("utf-16-le", b"\xff\xfe")]),
)
def test_it_is_read_as_pythons_csv_module_does_and_kept_byte_for_byte(
    file, rows, separator, line_end, quoting, mark
):
    text = io.StringIO()
    writer = csv.writer(text, delimiter=separator, lineterminator=line_end, quoting=quoting)
    writer.writerows([["Student", "ID", "Grade"], *rows])
    encoding, begin = mark
    data = begin + text.getvalue().encode(encoding)
    table = table_in(file, data)
    expected = csv.reader(io.StringIO(text.getvalue(), newline=""), delimiter=separator)
    assert values(table) == [row for row in expected if any(cell.strip() for cell in row)]
    assert table.with_values(0, {}) == data


@given(seed=st.integers(0, 1 << 20))
def test_only_the_cells_that_change_change(file, seed):
    draw = random.Random(seed)
    pieces = ["Müller", '"O\'Neil, ""Al"""', '"two\r\nlines"', "8,5", "", " x ", '"7"']
    rows = [[draw.choice(pieces) for _ in range(4)] for _ in range(5)]
    lines = ["a;b;c;d", *(";".join(row) for row in rows)]
    text = "\r\n".join(lines)
    table = table_in(file, text.encode())
    there = [row for row in rows if any(cell.strip() for cell in row)]
    row, column = draw.randrange(len(there)), draw.randrange(4)
    new = table.with_values(column, {table.rows[row]: "9.00"}).decode()
    there[row][column] = '"9.00"' if there[row][column].startswith('"') else "9.00"
    kept = iter(there)
    expected = [
        "a;b;c;d",
        *(";".join(next(kept) if any(c.strip() for c in r) else r) for r in rows),
    ]
    assert new == "\r\n".join(expected)


def test_excels_line_says_what_the_separator_is_and_stays(file):
    data = b'\xef\xbb\xbfsep=;\r\nStudent, ID, and more;Grade\r\nann;"1"\r\n'
    table = table_in(file, data)
    assert table.heading == ["Student, ID, and more", "Grade"] and table.rows[0].line == 3
    assert table.with_values(1, {table.rows[0]: "2.00"}) == data.replace(b'"1"', b'"2.00"')


def test_a_decimal_comma_is_quoted_where_commas_separate(file):
    table = table_in(file, b'Student,Grade,Of\nann,1,"10,00"\n')
    assert table.decimal_comma([1, 2])
    assert (
        table.with_values(1, {table.rows[0]: as_number(8.5, comma=True)}).splitlines()[1]
        == b'ann,"8,50","10,00"'
    )


def test_a_part_keeps_the_cells_that_it_has(file):
    table = table_in(file, b'a,b,c\r\n"1, 2",x,3\r\n4,y,"6"')
    first, second = table.rows
    assert (
        table.with_values(2, {second: "9.00"}, [first, second], {0, 2})
        == b'a,c\r\n"1, 2",3\r\n4,"9.00"\n'
    )
    assert table.with_values(0, {}, [], {1}) == b"b\r\n"


def test_a_table_that_is_not_utf_8_keeps_its_bytes(file):
    data = "Student;Grade\nM\xfcller;1\n".encode("latin-1")
    table = table_in(file, data)
    assert table.with_values(1, {table.rows[0]: "2.00"}) == data.replace(b";1", b";2.00")


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "found nothing"),
        (b"\n\n", "found nothing"),
        (b"Student\nann\n", "a single column"),
        (b'Student,Grade\n"ann,1\n', "line 2"),
        (b'Student,Grade\n"ann ""x"",1\nbo,2\n', "line 2"),
        (b"PK\x03\x04\x14\x00\x06\x00\x08\x00", "archive or a spreadsheet|save it as CSV"),
        (b"\xff\xfe\x00", "save it as CSV"),
    ],
)
def test_what_is_no_table_is_refused_with_what_to_do(file, data, said):
    with pytest.raises(TableError, match=said):
        table_in(file, data)


def test_a_table_that_is_not_there(tmp_path):
    with pytest.raises(TableError, match="found no such file"):
        read_table(tmp_path / "none.csv")
    (tmp_path / "link.csv").symlink_to("/etc/passwd")
    with pytest.raises(TableError, match="found no such file"):
        read_table(tmp_path / "link.csv")


WITHOUT_END = {
    "rows": b"a,b\n" + b"\n" * 300_000,
    "cells": b"a,b\n" + b"," * 3_000_000,
    "columns": b",".join(b"%d" % number for number in range(2_100_000)),
    "an open quote": b'a,b\n"' + b'""' * 5_000_000,
    "no mark of its encoding": "a,b\n".encode("utf-16-le"),
}


@pytest.mark.parametrize("kind", WITHOUT_END)
def test_a_table_without_end_is_refused_within_seconds(file, kind):
    began = time.process_time()
    with pytest.raises(TableError) as stopped:
        table_in(file, WITHOUT_END[kind])
    assert time.process_time() - began < 15
    assert len(str(stopped.value)) < 2000


def test_a_message_quotes_nothing_that_a_terminal_obeys(file):
    table = table_in(file, "a\x1b[2J,b\u202e\n".encode())
    with pytest.raises(TableError) as stopped:
        table.column("id")
    assert "a�[2J, b�" in str(stopped.value)


@pytest.mark.parametrize(
    ("cell", "number"),
    [("8", 8), ("8.50", 8.5), ("8,50", 8.5), ("1.234,5", 1234.5), ("1,234.5", 1234.5), ("-2", -2), ("7.", 7),
     ("", None), ("EX", None), ("80 %", None), ("-", None), ("=1", None), ("9" * 400, None), ("NaN", None), ("1e999", None)],
)  # fmt: skip
def test_numbers_are_read_as_canvas_reads_them(cell, number):
    assert number_in(cell) == number
