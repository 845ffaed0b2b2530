"""The banks are read back by the rules of their formats, and say what the TOML of the lectures says.

What is written by `tools.quiz_banks` is read here without it: XML by defusedxml, HTML by Beautiful Soup,
and the questions by tomllib, so that neither side can hide a mistake of the other.
"""

import tomllib
import zipfile
from collections import Counter
from xml.etree.ElementTree import Element

import pytest
from bs4 import BeautifulSoup
from defusedxml import ElementTree

from lecture_kit import questions
from tests.sample_class import ROOT
from tools import quiz_banks
from tools.part import part_of

TABLES = {
    table["id"]: table
    for path in sorted(ROOT.glob("lecture_kit/questions/*.toml"))
    for table in tomllib.loads(path.read_text("utf-8"))["question"]
}
for table in TABLES.values():  # a reader finds choices in alphabetical order
    table.get("choices", []).sort(key=lambda choice: choice["text"])
KINDS = Counter(table["kind"] for table in TABLES.values())
IN_QTI = "{http://www.imsglobal.org/xsd/ims_qtiasiv1p2}"


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """The folder with the banks, and what was said about them."""
    folder = tmp_path_factory.mktemp("questions")
    return folder, "\n".join(quiz_banks.write(folder))


def plain(html: str) -> str:
    """What a reader of a page sees, with code between backticks as in the TOML."""
    page = BeautifulSoup(html, "html.parser")
    assert {tag.name for tag in page.find_all(True)} <= {"p", "code", "ul", "li"}
    for code in page.find_all("code"):
        code.replace_with(f"`{code.get_text()}`")
    return page.get_text()


def by_kind(kind):
    return [table for table in TABLES.values() if table["kind"] == kind]


def test_no_question_has_a_mark_that_only_one_platform_knows():
    """Their formulas are letters and signs such as √dₖ, which every platform shows as they are."""
    for name, table in TABLES.items():
        for text in sentences(table):
            assert not any(mark in text for mark in ("$", "\\(", "\\[", "&", "](")), name


def sentences(table):
    """Every text of a question that a student may read."""
    yield table["text"]
    for key in ("says", "hint"):
        yield from [table[key]] if key in table else []
    for group in ("choices", "wrong", "steps"):
        for each in table.get(group, []):
            yield from (each[key] for key in ("text", "says", "too_early") if key in each)


def test_a_part_of_the_course_asks_its_own_questions_alone(tmp_path):
    said = "\n".join(quiz_banks.write(tmp_path, part_of("2-3")))
    root = ElementTree.parse(tmp_path / "moodle.xml").getroot()
    asked = [question.findtext("idnumber") for question in root.iterfind("question[idnumber]")]
    expected = [each.id for lecture in ("02", "03") for each in questions.questions_of(lecture)]
    assert asked == expected and f"{len(expected)} questions" in said
    with zipfile.ZipFile(tmp_path / "canvas.zip") as package:
        quizzes = [name for name in package.namelist() if name.startswith("lecture-")]
    assert quizzes == ["lecture-02/lecture-02.xml", "lecture-03/lecture-03.xml"]


def test_a_part_that_is_not_there_gets_a_sentence(tmp_path):
    with pytest.raises(SystemExit, match="no questions: expected numbers of lectures from 1 to"):
        quiz_banks.main(["--to", str(tmp_path), "--only", "77"])


# ------------------------------------------------------------------------------------------- Moodle


@pytest.fixture(scope="module")
def moodle(written):
    """Categories in their order, and questions by their id numbers."""
    root = ElementTree.parse(written[0] / "moodle.xml").getroot()
    assert root.tag == "quiz"
    categories, found = [], {}
    for question in root:
        if question.get("type") == "category":
            categories.append(question.findtext("category/text"))
        else:
            assert question.findtext("idnumber") not in found
            found[question.findtext("idnumber")] = question
    return categories, found


def test_moodle_gets_every_question_in_the_category_of_its_lecture(moodle, written):
    categories, found = moodle
    assert list(found) == list(TABLES)
    kinds = Counter(question.get("type") for question in found.values())
    assert kinds == {
        "multichoice": KINDS["choice"], "numerical": KINDS["number"], "ordering": KINDS["order"]
    }  # fmt: skip
    assert len(categories) == len(questions.lectures()) == 12
    for number, category in enumerate(categories, start=1):
        course, title = category.removeprefix("$course$/top/").split("/")
        assert course == "Attention and transformers" and title.startswith(f"Lecture {number}: ")
    assert f"{sum(KINDS.values())} questions" in written[1]
    for name, question in found.items():
        assert plain(question.findtext("questiontext/text")) == TABLES[name]["text"]
        assert question.find("questiontext").get("format") == "html"
        assert question.findtext("name/text").endswith(name.replace("-", " "))


@pytest.mark.parametrize("table", by_kind("choice"), ids=lambda table: table["id"])
def test_moodle_answers_every_choice(moodle, table):
    question = moodle[1][table["id"]]
    assert question.findtext("single") == "true"
    read = [
        (plain(answer.findtext("text")), answer.get("fraction"), plain(answer.findtext("feedback/text")))
        for answer in question.findall("answer")
    ]  # fmt: skip
    assert read == [
        (choice["text"], "100" if choice.get("right") else "0", choice["says"])
        for choice in table["choices"]
    ]


def in_moodle(question: Element, typed: float) -> tuple[str, str]:
    """The fraction and the feedback of a number: the first answer that it fits decides."""
    for answer in question.findall("answer"):
        text = answer.findtext("text")
        tolerance = float(answer.findtext("tolerance"))
        if text == "*" or abs(typed - float(text)) <= tolerance + 1e-12:
            return answer.get("fraction"), plain(answer.findtext("feedback/text"))
    raise AssertionError("no answer fits, so nothing would be said")


@pytest.mark.parametrize("table", by_kind("number"), ids=lambda table: table["id"])
def test_moodle_answers_every_number(moodle, table):
    question = moodle[1][table["id"]]
    tolerance = table.get("tolerance", 0)
    for typed in (table["answer"], table["answer"] + tolerance, table["answer"] - tolerance):
        assert in_moodle(question, typed) == ("100", table["says"])
    for wrong in table["wrong"]:
        assert in_moodle(question, wrong["value"]) == ("0", wrong["says"])
    assert in_moodle(question, table["answer"] + 1.01 * tolerance + 12.345) == ("0", table["hint"])


@pytest.mark.parametrize("table", by_kind("order"), ids=lambda table: table["id"])
def test_moodle_orders_every_step(moodle, table):
    question = moodle[1][table["id"]]
    answers = sorted(question.findall("answer"), key=lambda answer: float(answer.get("fraction")))
    texts = [step["text"] for step in table["steps"]]
    assert [plain(answer.findtext("text")) for answer in answers] == texts
    assert plain(question.findtext("correctfeedback/text")) == table["says"]
    for part in ("partiallycorrectfeedback", "incorrectfeedback"):
        told = plain(question.findtext(f"{part}/text"))
        assert all(f"{step['text']} – {step['too_early']}" in told for step in table["steps"][1:])


# ------------------------------------------------------------------------------------------- Canvas


@pytest.fixture(scope="module")
def canvas(written):
    """The items of all quizzes, by their names."""
    with zipfile.ZipFile(written[0] / "canvas.zip") as package:
        assert package.testzip() is None
        manifest = ElementTree.fromstring(package.read("imsmanifest.xml"))
        named = [
            (resource.get("type"), file.get("href"))
            for resource in manifest.iter(f"{{{quiz_banks.PACKAGE}}}resource")
            for file in resource
        ]
        assert {kind for kind, _ in named} == {"imsqti_xmlv1p2"}
        assert ["imsmanifest.xml", *(place for _, place in named)] == package.namelist()
        quizzes = [ElementTree.fromstring(package.read(place)) for _, place in named]
    titles = [quiz.find(f"{IN_QTI}assessment").get("title") for quiz in quizzes]
    assert [title.partition(":")[0] for title in titles] == [f"Lecture {n}" for n in range(1, 13)]
    items = [item for quiz in quizzes for item in quiz.iter(f"{IN_QTI}item")]
    assert len({item.get("ident") for item in items}) == len(items)
    return {item.get("ident"): item for item in items}


def in_canvas(item: Element, response: str) -> tuple[float, str]:
    """The score of a response and all that is said to it, by the rules of QTI 1.2."""

    def holds(test: Element) -> bool:
        match test.tag.removeprefix(IN_QTI):
            case "varequal":
                return response == test.text or number(response) == number(test.text)
            case "vargte":
                return number(response) >= number(test.text)
            case "varlte":
                return number(response) <= number(test.text)
            case "and" | "conditionvar":
                return all(map(holds, test))
            case "or":
                return any(map(holds, test))
            case "other":
                return True
        raise AssertionError(f"what is {test.tag}?")

    score, said = 0.0, []
    feedback = {part.get("ident"): "".join(part.itertext()).strip() for part in item.iter(f"{IN_QTI}itemfeedback")}  # fmt: skip
    for rule in item.iter(f"{IN_QTI}respcondition"):
        if not holds(rule.find(f"{IN_QTI}conditionvar")):
            continue
        if rule.find(f"{IN_QTI}setvar") is not None:
            score = float(rule.findtext(f"{IN_QTI}setvar"))
        said += [feedback[shown.get("linkrefid")] for shown in rule.iter(f"{IN_QTI}displayfeedback")]  # fmt: skip
        if rule.get("continue") == "No":
            break
    return score, plain("".join(said))


def number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return float("nan")


def test_canvas_gets_every_question_that_it_can_hold_and_the_others_are_named(canvas, written):
    assert list(canvas) == [name for name, table in TABLES.items() if table["kind"] != "order"]
    kinds = Counter(item.findtext(f".//{IN_QTI}fieldentry") for item in canvas.values())
    assert kinds == {
        "multiple_choice_question": KINDS["choice"], "numerical_question": KINDS["number"]
    }  # fmt: skip
    assert f"{KINDS['choice'] + KINDS['number']} questions" in written[1]
    for table in by_kind("order"):
        assert table["id"].replace("-", " ") in written[1]
    for name, item in canvas.items():
        asked = item.findtext(f"{IN_QTI}presentation/{IN_QTI}material/{IN_QTI}mattext")
        assert plain(asked) == TABLES[name]["text"]


@pytest.mark.parametrize("table", by_kind("choice"), ids=lambda table: table["id"])
def test_canvas_answers_every_choice(canvas, table):
    item = canvas[table["id"]]
    labels = list(item.iter(f"{IN_QTI}response_label"))
    for label, choice in zip(labels, table["choices"], strict=True):
        assert plain("".join(label.itertext()).strip()) == choice["text"]
        score = 100 if choice.get("right") else 0
        assert in_canvas(item, label.get("ident")) == (score, choice["says"])


@pytest.mark.parametrize("table", by_kind("number"), ids=lambda table: table["id"])
def test_canvas_answers_every_number(canvas, table):
    item = canvas[table["id"]]
    tolerance = table.get("tolerance", 0)
    for typed in (table["answer"], table["answer"] + tolerance, table["answer"] - tolerance):
        assert in_canvas(item, f"{typed:.12g}") == (100, table["says"])
    told = [table["hint"], *(f"{each['value']:g} – {each['says']}" for each in table["wrong"])]
    for typed in [*(each["value"] for each in table["wrong"]), table["answer"] + 12.345]:
        score, said = in_canvas(item, str(typed))
        assert score == 0 and all(sentence in said for sentence in told)
