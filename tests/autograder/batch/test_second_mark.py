"""A second way to work out a mark agrees with the grader's on a thousand drawn terms, to the last decimal."""

import random
import shutil
from decimal import Decimal

import pytest
from nbgrader.api import Gradebook

from autograder.batch.csv_file import as_number
from autograder.batch.final_mark import in_words
from autograder.batch.late_penalty import PercentADay
from autograder.batch.term import term_of
from tests.autograder.batch import second_mark
from tests.sample_class import hand_in

pytestmark = pytest.mark.filterwarnings("ignore::sqlalchemy.exc.SAWarning")

OF = {"a1_first": ("4.5", "5.5"), "a2_second": ("3", "9"), "a3_third": ("2", "6"), "a10_tenth": ("7.5", "7.5")}  # fmt: skip
MOST = {name: sum(map(Decimal, cells)) for name, cells in OF.items()}
STUDENTS, RULES = 50, 20
PLUGIN = ("2", "7.5", "60")  # hours of grace, percent a day, percent at most


def a_score(draw, most):
    """As the checks and people give it: whole or half points, eighths, hundredths, thousandths; seldom too many."""
    step = draw.choice(["1", "0.5", "0.125", "0.01", "0.005", "0.001"])
    return str(
        Decimal(step)
        * draw.randint(0, int(Decimal(most) * draw.choice([1, 1, 1, 2]) / Decimal(step)))
    )


def some_rules(draw):
    """Rules of a term, with numbers as texts."""
    names = list(OF)
    rules = {"decimals": draw.randint(0, 2), "drop_worst": draw.randint(0, 2)}
    rules["pass_at"] = draw.choice(["50", "49.5", "33.3", "60"])
    rules["grades"] = {"D": rules["pass_at"], "B": "72.5", "A": draw.choice(["90", "87.55"])}
    bonus = draw.sample(names, draw.choice([0, 0, 1]))
    rules["bonus"] = {name: draw.choice(["5", "2.5", "0.35"]) for name in bonus}
    rules["pass_in"] = {
        name: draw.choice(["30", "12.5", "0"]) for name in draw.sample(names, draw.choice([0, 1]))
    }
    rules["weights"] = {}
    if draw.random() < 0.7:
        weighted = [name for name in names if name not in bonus]
        rules["weights"] = {
            name: draw.choice(["1", "2", "0.1", "0.3", "1.75"]) for name in weighted
        }
    return rules


def as_toml(rules):
    tables = {key: value for key, value in rules.items() if isinstance(value, dict)}
    lines = [f"{key} = {value}" for key, value in rules.items() if key not in tables]
    for key, table in tables.items():
        lines += [f"[{key}]", *(f"{name} = {value}" for name, value in table.items())]
    return "\n".join(lines)


@pytest.fixture(scope="module")
def drawn(tmp_path_factory):
    """A class with drawn scores, given by the checks and by hand, and penalties; and the same as texts."""
    draw, folder = random.Random(20), tmp_path_factory.mktemp("drawn") / "course"
    hand_in(folder, {})
    shutil.rmtree(folder / "solutions")
    plugin = PercentADay(**dict(zip(("grace_hours", "percent_a_day", "most_percent"), map(float, PLUGIN), strict=True)))  # fmt: skip
    texts = {}
    with Gradebook(f"sqlite:///{folder}/gradebook.db", "attention") as gradebook:
        for name, cells in OF.items():
            (folder / "solutions" / name).mkdir(parents=True)
            gradebook.add_assignment(name)
            gradebook.add_notebook(name, name)
            for number, most in enumerate(cells):
                gradebook.add_grade_cell(
                    f"c{number}", name, name, max_score=float(most), cell_type="code"
                )
        for student in (f"s{number:02}" for number in range(STUDENTS)):
            gradebook.add_student(student)
            for name, cells in OF.items():
                if draw.random() < 0.1:
                    continue
                notebook = gradebook.add_submission(name, student).notebooks[0]
                scores = [a_score(draw, most) for most in cells]
                for grade, score in zip(
                    sorted(notebook.grades, key=lambda one: one.name), scores, strict=True
                ):
                    by_hand = draw.random() < 0.3
                    grade.auto_score = 0.1 if by_hand else float(score)
                    grade.manual_score = float(score) if by_hand else None
                    grade.needs_manual_grade = False
                late = draw.choice([0, 0, draw.randint(1, 12_000), 120, 121, 120 + 1440])
                earned = sum(map(float, scores))  # as nbgrader adds it up
                notebook.late_submission_penalty = plugin.late_submission_penalty(
                    student, earned, 60 * late
                )
                texts[student, name] = scores, late
        gradebook.db.commit()
    return folder, texts


@pytest.mark.long
def test_two_ways_to_work_out_a_mark_agree_on_a_thousand_terms(drawn, tmp_path):
    folder, texts = drawn
    draw, seen = random.Random(21), set()
    right = {
        (student, name): second_mark.points(scores, late, PLUGIN)
        for (student, name), (scores, late) in texts.items()
    }
    for _ in range(RULES):
        rules = some_rules(draw)
        (tmp_path / "rules.toml").write_text(as_toml(rules), encoding="utf-8")
        excused = {
            (f"s{draw.randrange(STUDENTS):02}", draw.choice(list(OF))) for _ in range(STUDENTS)
        }
        lines = ["student,assignment", *(",".join(pair) for pair in sorted(excused))]
        (folder / "excused.csv").write_text("\n".join(lines), encoding="utf-8")
        term = term_of(folder, tmp_path / "rules.toml")
        assert len(term.standings) == STUDENTS
        for one in term.standings:
            theirs = {name: right[one.student, name] for name in OF if (one.student, name) in right}
            for name, points in theirs.items():
                assert as_number(one.points[name]) == second_mark.half_up(points, 2)
            without = {name for name in OF if (one.student, name) in excused}
            expected = second_mark.mark(theirs, MOST, rules, without)
            found = in_words(one.mark, rules["decimals"]), one.mark.passed, one.mark.grade
            assert found == (expected or ("–", False, "")), (one, rules)
            seen.add(found[2])
    assert seen >= {"A", "B", "D", "not passed"}
