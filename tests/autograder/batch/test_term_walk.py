"""Every row of a teacher's term comes true; `python -m tests.term_walk` prints them."""

import pytest

from tests.term_walk import walked

pytestmark = pytest.mark.long


def test_a_term_of_thirty_students_comes_out_as_the_guides_say():
    done = walked()
    assert [row.number for row in done.rows] == [*range(1, 16)]
    assert not (false := [row for row in done.rows if not row.true]), "\n".join(map(str, false))
