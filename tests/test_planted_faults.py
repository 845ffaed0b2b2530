"""What is planted in the engine stands where it is said, and its tests are there."""

from collections import Counter

import pytest

from tests.planted_faults import FAULTS, ROOT, Fault, is_found


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: f"{fault.path}-{fault.old}")
def test_a_fault_can_be_planted(fault):
    assert fault.made_in(ROOT) != (ROOT / fault.path).read_text(encoding="utf-8")
    assert [name for name in fault.tests if not (ROOT / name.partition("::")[0]).exists()] == []


def test_there_are_enough_of_each_package():
    packages = Counter(fault.path.split("/")[1] for fault in FAULTS)
    assert packages["checks"] >= 25 and packages["grade"] >= 15 and packages["batch"] >= 20


SUM = "def add(one, other):\n    return one + other\n"
TEST = "from sums import add\n\ndef test_a_sum():\n    assert add(2, 3) == 5\n"


@pytest.mark.long
@pytest.mark.parametrize(("new", "found"), [("one - other", True), ("other + one", False)])
def test_a_fault_is_found_if_a_test_fails_and_is_taken_back(tmp_path, new, found):
    (tmp_path / "sums.py").write_text(SUM)
    (tmp_path / "test_sums.py").write_text(TEST)
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers =\n    slow: x\n    long: x\n")
    assert is_found(Fault("sums.py", "one + other", new, ("test_sums.py",)), tmp_path) == found
    assert (tmp_path / "sums.py").read_text() == SUM
    with pytest.raises(LookupError, match="found 0 times"):
        Fault("sums.py", "one * other", "", ()).made_in(tmp_path)
