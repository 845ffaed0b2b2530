"""Exam questions: two a lecture, points that add up, numbers that are right, and nothing of them reaches students."""

import math
import re
from collections import Counter
from fnmatch import fnmatch
from itertools import pairwise

import pytest
import torch
from torch.nn import functional as F

from course_utils import language_models, masks
from tests.build.test_minutes import LECTURES
from tests.sample_class import ROOT
from tools import handout, website

EXAMS = sorted(ROOT.glob("exams/[0-9]*.md"))
QUESTION = re.compile(r"^## Question \d: ([^\n]+) \((\d+) points\)\n(.+?)^### Solution\n(.+?)(?=^## |\Z)", re.MULTILINE | re.DOTALL)  # fmt: skip
PART = re.compile(r"^\*\*\((\w)\)\*\*(.+?)(?=^\*\*\(\w\)\*\*|\Z)", re.MULTILINE | re.DOTALL)
by_lecture = pytest.mark.parametrize("path", EXAMS, ids=lambda path: path.stem[:2])


def questions_in(path):
    return QUESTION.findall(path.read_text("utf-8"))


def test_every_lecture_has_two_questions():
    assert [path.stem for path in EXAMS] == [path.stem for path in LECTURES]
    for path, lecture in zip(EXAMS, LECTURES, strict=True):
        title = re.search(r"^# # (Lecture .+)$", lecture.read_text("utf-8"), re.MULTILINE)[1]
        assert path.read_text("utf-8").startswith(f"# {title}\n")
        assert len(questions_in(path)) == 2


@by_lecture
def test_points_add_up_from_steps_to_parts_to_questions(path):
    for title, points, asked, solved in questions_in(path):
        parts = {name: float(re.match(r" \(([\d.]+) points?\)", text)[1]) for name, text in PART.findall(asked)}  # fmt: skip
        assert sum(parts.values()) == float(points) == 10, title
        solutions = dict(PART.findall(solved))
        assert list(solutions) == list(parts) == ["a", "b", "c", "d"][: len(parts)], title
        for name, text in solutions.items():
            steps = [float(step) for step in re.findall(r"\*\(([\d.]+) points?\b", text)]
            assert sum(steps) == parts[name], f"{title} ({name})"
        assert not re.search(r"\*\([\d.]+ points?", asked), "points of steps stand in the solution"


# ---------------------------------------------------------------------------------------- numbers


def softmax(scores):
    return torch.tensor(scores, dtype=torch.float64).softmax(dim=0)


def lecture_01():
    scores = [math.log(5), math.log(3), 0, 0]
    notes = torch.tensor([[2, 0], [0, 2], [4, 4], [0, 10]], dtype=torch.float64)
    plain = softmax(scores)
    masked = softmax([*scores[:3], -math.inf])
    late = (plain * torch.tensor([1, 1, 1, 0])) @ notes
    assert torch.allclose(late, 0.9 * masked @ notes)
    yield f"weights are {plain[0]:.1f}, {plain[1]:.1f}, {plain[2]:.1f} and {plain[3]:.1f}"
    yield "= ({:.1f}, {:.1f})$".format(*plain @ notes)
    yield r"\approx ({:.2f}, {:.2f})$".format(*masked @ notes)
    yield "is $({:.1f}, {:.1f})$".format(*late)
    yield rf"6 \cdot 7 = {6 * 7}$"


def lecture_02():
    weight = softmax([1, 3])[1].item()
    yield rf"\approx {weight:.3f}$"
    yield rf"\approx {(1 - weight) * 1 + weight * 3:.2f}$"
    yield rf"\approx {softmax([1, *[-1] * 7])[0]:.3f}$"
    yield rf"\ln {99 * 7} \approx {math.log(99 * 7):.2f}$"
    yield rf"\tau \le {2 / math.log(99 * 7):.3f}$"
    assert softmax([1 / 0.3057, *[-1 / 0.3057] * 7])[0] >= 0.99
    x, p = torch.randn(5, 3, generator=torch.Generator().manual_seed(0)), torch.tensor([3, 1, 4, 0, 2])  # fmt: skip
    functions = (
        lambda x: x - x.mean(dim=0),
        lambda x: x.cumsum(dim=0),
        lambda x: F.softmax(x @ x.T, dim=0) @ x,
    )
    equivariant = [torch.allclose(f(x[p]), f(x)[p], atol=1e-6) for f in functions]
    assert equivariant == [True, False, True]


def lecture_03():
    d, mean = 64, 0.5
    variance = (1 + mean**2) ** 2 - mean**4
    yield f"are {d * mean**2:.0f} and {d * variance:.0f}, and after the division by 8 they are 2 and {variance}"
    yield rf"{d * (1 + mean**2):.0f} / 64 = {1 + mean**2}$"
    yield f"deviation is {(1 + mean**2) ** 0.5:.2f}"
    values = torch.tensor([1.0, 2, 4], dtype=torch.float64)
    scores = (2 * torch.tensor([0.7, 0.2, 0.1], dtype=torch.float64).log()).requires_grad_()
    z = (scores / 2).softmax(dim=0) @ values
    z.backward()
    yield f"= {z:.1f}$"
    yield f"(-0.5) = {scores.grad[0]:.3f}$"
    yield f"0.5 = {scores.grad[1]:.2f}$"
    yield f"2.5 = {scores.grad[2]:.3f}$"
    step = -4 * scores.grad
    yield "by $+{:.1f}$, ${:.1f}$ and ${:.1f}$".format(*step)
    yield "by {:.3f}, {:.3f} and {:.3f}".format(*(step / 2).exp())
    after = ((scores + step) / 2).softmax(dim=0)
    yield "are {:.3f}, {:.3f} and {:.3f}".format(*after)
    yield f"to {after @ values:.2f}."


def lecture_04():
    real = torch.tensor([[False, False, True, True, True]])
    mask = masks.causal_mask(5) & real
    rows = [f"| {n} | {' | '.join('FT'[seen] for seen in row)} |" for n, row in enumerate(mask.tolist(), 1)]  # fmt: skip
    yield "\n".join(rows)
    assert mask.sum() == 6

    def blocks(x):  # what each output may depend on: places as numbers, the largest one counts
        for _ in range(4):
            x = F.max_pool1d(x, 3, stride=1, padding=1).cummax(dim=-1).values
        return x

    changed = blocks(F.one_hot(torch.tensor([8]), 12).float()) > 0
    yield f"token $9 - 4 = {changed[0].nonzero().min() + 1}$ on"


def lecture_05():
    yield rf"4 \cdot 96^2 = {4 * 96**2 // 1000}\,{4 * 96**2 % 1000}$"
    yield rf"4 \cdot 96 \cdot 64 = {4 * 96 * 64 // 1000}\,{4 * 96 * 64 % 1000}$"
    columns = torch.arange(1, 97).reshape(6, 16)
    for head in (2, 5):
        yield f"{columns[head - 1, 0]} to {columns[head - 1, -1]}"
    yield rf"2 \ln 57 \approx {2 * math.log(57):.2f}$"
    yield rf"\ln 57 \approx {math.log(57):.2f}$"
    w_q = torch.diag(torch.full((3,), 8.09), diagonal=-1)
    weights = (w_q / 2).softmax(dim=1)
    assert all(weights[i, i - 1] >= 0.95 for i in (1, 2, 3))


def lecture_06():
    def dot(m):
        return math.cos(m) + math.cos(0.01 * m)

    yield f"it is {dot(0):.0f}, for 3 it is {dot(3):.3f}, and for 6 it is {dot(6):.3f}"
    yield rf"\approx {4 - 2 * dot(6):.3f}$"
    yield f"distance {(4 - 2 * dot(6)) ** 0.5:.2f}"
    yield rf"\sqrt{{{4 - 2 * dot(3):.3f}}} \approx {(4 - 2 * dot(3)) ** 0.5:.1f}$"
    yield rf"14\pi \approx {14 * math.pi:.2f}$, and $\cos 44 \approx {math.cos(44):.4f}$"
    yield f"about {math.degrees(0.44):.0f} degrees"
    turned = [4 * math.cos((j - 20) * math.pi / 6 + math.pi / 3) for j in range(20, 8, -1)]
    weights = softmax(turned)
    assert weights.argmax() == 2, "two back"
    yield rf"\approx {weights.max():.3f}$"


def lecture_07():
    x = torch.tensor([[2.0, 4, 6, 8], [13, 19, 25, 31]])
    first, second = F.layer_norm(x, (4,))
    assert torch.allclose(first, second, atol=1e-4)
    yield "({:.2f}, {:.2f}, {:.2f}, {:.2f})$".format(*first)
    variance = 0.1 / 0.9 / 16
    yield f"variance is {variance:.5f} and the standard deviation {variance**0.5:.3f}"
    yield rf"\sqrt{{1/9}} = {(0.1 / 0.9) ** 0.5:.3f}$"
    kept = [(a, b) for a in (0, 1) for b in (0, 1)]
    yield f"= {sum(a / (a + b) for a, b in kept if a) / 4}$"


def lecture_08():
    source, target = torch.tensor([7, 5]), torch.tensor([6, 4])
    seen_source = torch.arange(7) < source[:, None]
    seen_target = torch.arange(6) < target[:, None]
    yield rf"7 \cdot 7 + 7 \cdot 5 = {7 * seen_source.sum()}$"
    decoder = (masks.causal_mask(6) & seen_target[:, None]).sum(dim=(1, 2))
    yield rf"6 = {decoder[0]}$"
    yield f"4 + 4 + 4 = {decoder[1]}$, together {decoder.sum()}."
    yield rf"6 \cdot 5 = {6 * seen_source.sum()}$"


def lecture_09():
    p = torch.tensor([1 / 2, 1 / 4, 1 / 8, 1 / 8], dtype=torch.float64)
    entropy = -(p * p.log()).sum()
    yield rf"1.75 \ln 2 \approx {entropy:.3f}$"
    yield rf"2^{{1.75}} \approx {entropy.exp():.2f}$"
    yield rf"\ln 4 \approx {math.log(4):.3f}$, which is {math.log(4) - entropy:.3f} more"
    cold = p.square() / p.square().sum()
    yield "about {:.3f}, {:.3f}, {:.3f} and {:.3f}".format(*cold)
    cold_entropy = -(cold * cold.log()).sum()
    yield f"entropy is {cold_entropy:.3f} nats"
    assert 0.31 < 1 - cold_entropy / entropy < 0.34, "a third"
    yield "with {:.3f}, {:.3f} and {:.3f}".format(*p[:3] / 0.875)
    yield rf"0.98^{{10}} \approx {0.98**10:.3f}$"
    words = {"banana": 3, "ban": 2, "nab": 4}
    assert language_models.learn_merges(words, 3) == [("n", "a"), ("b", "a"), ("na", "b")]
    pairs = Counter()
    for word, count in words.items():
        for pair in pairwise(word):
            pairs[pair] += count
    assert pairs == {("n", "a"): 10, ("a", "n"): 8, ("b", "a"): 5, ("a", "b"): 4}
    cut = {word: language_models.apply_merges(word, language_models.learn_merges(words, 3)) for word in (*words, "bananab")}  # fmt: skip
    yield f"= {sum(n * len(word) for word, n in words.items())}$"
    yield f"= {sum(n * len(cut[word]) for word, n in words.items())}$"
    yield f"then `{' '.join(cut['bananab'])}`"
    yield rf"17 \cdot 2.0 = {17 * 2}$ nats against $36 \cdot 1.1 = {36 * 1.1:.1f}$"


def lecture_10():
    token = 2 * 24 * 4 * 64 * 2
    cache = token * 8192
    yield rf"= {token // 1000}\,{token % 1000}$ bytes"
    yield f"8192 tokens {cache / 1e6:.0f} MB"
    yield f"{4 * cache / 1e6:.0f} MB"
    one, many = 2.6e9 + cache, 2.6e9 + 32 * cache
    yield f"takes {one / 1e9:.2f} ms, so there are about {1e12 / one:.0f} tokens"
    yield f"= {many / 1e9:.2f}$ GB in {many / 1e9:.2f} ms"
    yield f"about {round(32 * 1e12 / many, -1):.0f} per second"
    yield rf"\approx {2.6e9 / cache:.1f}$"
    yield rf"\approx {token * 1024 / 1e6:.1f}$ MB"
    scores, values = torch.tensor([0, math.log(2), math.log(4), 0]), torch.tensor([2.0, 5, 10, 1])
    halves = []
    for half in (slice(0, 2), slice(2, 4)):
        exponentials = (scores[half] - scores[half].max()).exp()
        halves.append((exponentials.sum().item(), (exponentials @ values[half]).item()))
    (sum_1, out_1), (sum_2, out_2) = halves
    yield rf"= {sum_1:g}$, $o_1 = ½ \cdot 2 + 5 = {out_1:g}$"
    yield rf"= {sum_2:g}$, $o_2 = 10 + ¼ \cdot 1 = {out_2:g}$"
    merged = (out_1 / 2 + out_2) / (sum_1 / 2 + sum_2)
    assert math.isclose(merged, scores.softmax(dim=0) @ values, abs_tol=1e-6)
    yield f"$o / \\ell = {merged:.3f}$"
    yield f"$({out_1 / sum_1:g} + {out_2 / sum_2:g})/2 = {(out_1 / sum_1 + out_2 / sum_2) / 2:g}$"


def lecture_11():
    x = torch.tensor([3.0, -1, 2, 0])
    yield "$({:.2f}, {:.2f}, {:.2f}, {:.2f})$".format(*F.layer_norm(x, (4,)))
    yield "$({:.2f}, {:.2f}, {:.2f}, {:g})$".format(*F.rms_norm(x, (4,), eps=1e-9))
    differences = torch.tensor([0.03, -0.01, 0.02, -0.02, 0.03])
    yield f"The mean is {differences.mean():.2f}."
    yield rf"\approx {differences.std():.4f}$"
    yield rf"\approx {differences.mean() / (differences.std() / 5**0.5):.2f}$"
    yield rf"3072 \approx {2 * 768 * 3072 / 1e6:.1f}$ million"
    yield rf"3072 \approx {3 * 768 * 3072 / 1e6:.1f}$ million"
    assert 3 * 768 * 2048 == 2 * 768 * 3072


def lecture_12():
    rows = {3: [0.1, 0.6, 0.1, 0.2], 4: [0, 0.1, 0.8, 0.1, 0], 5: [0.1, 0.1, 0.1, 0.4, 0.1, 0.2]}
    assert all(math.isclose(sum(row), 1) for row in rows.values())
    yield f"/3 = {sum(row[i - 2] for i, row in rows.items()) / 3:.1f}$"
    yield f"/3 = {sum(row[i - 3] for i, row in rows.items()) / 3:.1f}$"
    yield rf"\approx {sum(1 / (i + 1) for i in rows) / 3:.3f}$"
    yield f"5.1/6 = {(-1.1 + 6.2) / (-0.2 + 6.2):.2f}$"
    yield f"/6 = {(-1.4 + 6.2) / 6:.2f}$"


@by_lecture
def test_the_numbers_of_the_solutions_are_computed(path):
    solutions = " ".join(solved for _, _, _, solved in questions_in(path))
    solutions = re.sub(r"\s+", " ", solutions)
    computed = list(globals()[f"lecture_{path.stem[:2]}"]())
    assert len(computed) >= 2
    for number in computed:
        assert re.sub(r"\s+", " ", number) in solutions, number


# ------------------------------------------------------------------------------- kept from students


def sentences():
    """The longest line of every question, by which it would be found wherever it went."""
    return [
        max(asked.splitlines(), key=len) for path in EXAMS for _, _, asked, _ in questions_in(path)
    ]


@pytest.mark.parametrize("self_check", [True, False])
def test_students_get_no_exam_question(tmp_path, self_check):
    assert len(set(sentences())) == 24
    copy = tmp_path / "copy"
    handout.make_handout(copy, self_check)
    assert not (copy / "exams").exists()
    for path in copy.rglob("*"):
        if path.suffix in {".md", ".ipynb", ".py", ".toml", ".txt"}:
            text = path.read_text("utf-8")
            assert not any(line in text for line in sentences()), path


def test_the_website_takes_nothing_from_the_exams():
    for path in (ROOT / "exams").iterdir():
        place = path.relative_to(ROOT).as_posix()
        assert not any(
            fnmatch(place, pattern) for pattern in (*website.PAGES, website.EXERCISE_FIGURES)
        )


def test_no_lecture_or_assignment_has_an_exam_question():
    for path in (*ROOT.glob("sources/lectures/*.py"), *ROOT.glob("assignments/*/notebook.py")):
        text = re.sub(r"\n# ", "\n", path.read_text("utf-8"))
        assert not any(line in text for line in sentences()), path
