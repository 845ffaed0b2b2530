"""Write the questions of all lectures for learning platforms, and for Anki.

    python -m tools.quiz_banks --to FOLDER            build/questions/, unless FOLDER is another one
    python -m tools.quiz_banks --only "1-8"           a part of the course, see tools/part.py

`moodle.xml` is Moodle XML, a category a lecture. `canvas.zip` is QTI 1.2 as Canvas imports it, a quiz a
lecture. Every wrong answer keeps its sentence. Canvas has neither steps to put in order nor a sentence
for a wrong number, so it gets no questions of the first kind, and the sentences of the other kind
together, as what is said to every wrong number. `tools/deck.py` writes the deck for Anki.
"""

from __future__ import annotations

import argparse
import sys
import zipfile
from collections.abc import Sequence
from pathlib import Path
from xml.etree import ElementTree
from xml.etree.ElementTree import Element, SubElement

import nbformat

from autograder.batch.release_text import title_in
from lecture_kit import questions
from tools import deck
from tools.part import WHOLE, Part, PartError, part_of

ROOT = Path(__file__).resolve().parent.parent
COURSE = "Attention and transformers"
QTI = "http://www.imsglobal.org/xsd/ims_qtiasiv1p2"
PACKAGE = "http://www.imsglobal.org/xsd/imsccv1p1/imscp_v1p1"


def title_of(lecture: str) -> str:
    """The title of a lecture, by its two digits."""
    (notebook,) = ROOT.glob(f"lectures/{lecture}_*.ipynb")
    return title_in(nbformat.read(notebook, as_version=4))


def name_of(question: questions.Question) -> str:
    """What a teacher finds a question by, such as "3.2 what the root does"."""
    return f"{int(question.lecture)}.{question.number} {question.id.replace('-', ' ')}"


def said_of_wrong(question: questions.NumberQuestion | questions.OrderQuestion) -> str:
    """The sentences of all wrong answers together, as HTML, where a platform cannot tell them apart."""
    match question:
        case questions.NumberQuestion(hint=hint, wrong=wrong):
            said = [(f"{each.value:g}", each.says) for each in wrong]
            intro = f"<p>{questions.marked(hint)}</p>"
        case questions.OrderQuestion(steps=steps):
            said = [(step.text, step.too_early) for step in steps[1:]]
            intro = "<p>A step comes too early if what it needs is not there yet.</p>"
    items = [
        f"<li>{questions.marked(what)} – {questions.marked(sentence)}</li>"
        for what, sentence in said
    ]
    return f"{intro}<ul>{''.join(items)}</ul>"


def add(parent: Element, tag: str, text: str = "", **attributes: str) -> Element:
    """A new element below another one."""
    element = SubElement(parent, tag, attributes)
    element.text = text or None
    return element


def as_bytes(root: Element) -> bytes:
    ElementTree.indent(root)
    return ElementTree.tostring(root, encoding="utf-8", xml_declaration=True)


# ------------------------------------------------------------------------------------------- Moodle

MOODLE_KINDS = {
    questions.ChoiceQuestion: "multichoice",
    questions.NumberQuestion: "numerical",
    questions.OrderQuestion: "ordering",
}
MOODLE_SETTINGS = {
    questions.ChoiceQuestion: {
        "single": "true",
        "shuffleanswers": "true",
        "answernumbering": "none",
    },
    questions.NumberQuestion: {"unitgradingtype": "0", "showunits": "3"},  # without units
    questions.OrderQuestion: {
        "layouttype": "VERTICAL",
        "selecttype": "ALL",
        "selectcount": "0",  # all of them
        "gradingtype": "ABSOLUTE_POSITION",
        "showgrading": "SHOW",
        "numberingstyle": "none",
    },
}


def for_moodle(lectures: Sequence[str]) -> bytes:
    """The questions of these lectures as Moodle XML."""
    quiz = Element("quiz")
    for lecture in lectures:
        title = title_of(lecture).replace("/", "//")  # a single one would divide categories
        category = add(add(quiz, "question", type="category"), "category")
        add(category, "text", f"$course$/top/{COURSE}/{title}")
        for question in questions.questions_of(lecture):
            add_to_moodle(quiz, question)
    return as_bytes(quiz)


def add_to_moodle(quiz: Element, question: questions.Question) -> None:
    """One question, with its sentences where Moodle shows them."""
    element = add(quiz, "question", type=MOODLE_KINDS[type(question)])
    add(add(element, "name"), "text", name_of(question))
    _html(element, "questiontext", f"<p>{questions.marked(question.text)}</p>")
    add(element, "defaultgrade", "1")
    add(element, "penalty", "0.3333333")
    add(element, "idnumber", question.id)
    for tag, text in MOODLE_SETTINGS[type(question)].items():
        add(element, tag, text)
    match question:
        case questions.ChoiceQuestion(choices=choices):
            for choice in choices:
                _answer(
                    element, 100 if choice.right else 0, questions.marked(choice.text), choice.says
                )
        case questions.NumberQuestion(answer=answer, tolerance=tolerance, wrong=wrong):
            for fraction, value, says in (
                (100, answer, question.says), *((0, each.value, each.says) for each in wrong)
            ):  # fmt: skip
                add(_answer(element, fraction, repr(value), says), "tolerance", repr(tolerance))
            add(_answer(element, 0, "*", question.hint), "tolerance", "0")  # any other number
        case questions.OrderQuestion(steps=steps):
            _html(element, "correctfeedback", f"<p>{questions.marked(question.says)}</p>")
            for tag in ("partiallycorrectfeedback", "incorrectfeedback"):
                _html(element, tag, said_of_wrong(question))
            for place, step in enumerate(steps, start=1):
                placed = add(element, "answer", fraction=str(place), format="html")
                add(placed, "text", questions.marked(step.text))


def _html(parent: Element, tag: str, html: str) -> None:
    add(add(parent, tag, format="html"), "text", html)


def _answer(parent: Element, fraction: int, text: str, says: str) -> Element:
    answer = add(parent, "answer", fraction=str(fraction), format="html")
    add(answer, "text", text)
    _html(answer, "feedback", f"<p>{questions.marked(says)}</p>")
    return answer


# ------------------------------------------------------------------------------------------- Canvas

CANVAS_KINDS = {
    questions.ChoiceQuestion: "multiple_choice_question",
    questions.NumberQuestion: "numerical_question",
}


def for_canvas(lectures: Sequence[str]) -> dict[str, bytes]:
    """The files of a QTI package with a quiz a lecture, by their names in it."""
    manifest = Element("manifest", {"xmlns": PACKAGE, "identifier": "attention-course"})
    about = add(manifest, "metadata")
    add(about, "schema", "IMS Content")
    add(about, "schemaversion", "1.1.3")
    add(manifest, "organizations")
    resources = add(manifest, "resources")
    files = {}
    for lecture in lectures:
        name = f"lecture-{lecture}"
        place = f"{name}/{name}.xml"
        resource = add(resources, "resource", identifier=name, type="imsqti_xmlv1p2")
        add(resource, "file", href=place)
        root = Element("questestinterop", {"xmlns": QTI})
        quiz = add(root, "assessment", ident=name, title=title_of(lecture))
        section = add(quiz, "section", ident="root_section")
        for question in questions.questions_of(lecture):
            if type(question) in CANVAS_KINDS:
                add_to_canvas(section, question)
        files[place] = as_bytes(root)
    return {"imsmanifest.xml": as_bytes(manifest), **files}


def add_to_canvas(section: Element, question: questions.Question) -> None:
    """One question, a choice or a number."""
    item = add(section, "item", ident=question.id, title=name_of(question))
    fields = add(add(item, "itemmetadata"), "qtimetadata")
    for label, entry in (
        ("question_type", CANVAS_KINDS[type(question)]),
        ("points_possible", "1"),
    ):
        field = add(fields, "qtimetadatafield")
        add(field, "fieldlabel", label)
        add(field, "fieldentry", entry)
    shown = add(item, "presentation")
    _material(shown, f"<p>{questions.marked(question.text)}</p>")
    decided = add(item, "resprocessing")
    outcome = {"maxvalue": "100", "minvalue": "0", "varname": "SCORE", "vartype": "Decimal"}
    add(add(decided, "outcomes"), "decvar", **outcome)
    match question:
        case questions.ChoiceQuestion(choices=choices):
            response = add(shown, "response_lid", ident="response1", rcardinality="Single")
            offered = add(response, "render_choice")
            for number, choice in enumerate(choices, start=1):
                ident = str(1000 + number)  # Canvas takes numbers for the names of answers
                _material(
                    add(offered, "response_label", ident=ident), questions.marked(choice.text)
                )
                said = _condition(decided, f"{ident}_fb", proceed="Yes")
                add(said, "varequal", ident, respident="response1")
                _feedback(item, f"{ident}_fb", f"<p>{questions.marked(choice.says)}</p>")
                if choice.right:
                    right = ident
            add(_condition(decided, score="100"), "varequal", right, respident="response1")
        case questions.NumberQuestion(answer=answer, tolerance=tolerance):
            response = add(shown, "response_str", ident="response1", rcardinality="Single")
            add(add(response, "render_fib", fibtype="Decimal"), "response_label", ident="answer1")
            either = add(_condition(decided, "correct_fb", score="100"), "or")
            add(either, "varequal", repr(answer), respident="response1")
            between = add(either, "and")
            add(between, "vargte", f"{answer - tolerance:.12g}", respident="response1")
            add(between, "varlte", f"{answer + tolerance:.12g}", respident="response1")
            add(_condition(decided, "general_incorrect_fb", proceed="Yes"), "other")
            _feedback(item, "correct_fb", f"<p>{questions.marked(question.says)}</p>")
            _feedback(item, "general_incorrect_fb", said_of_wrong(question))


def _material(parent: Element, html: str) -> None:
    add(add(parent, "material"), "mattext", html, texttype="text/html")


def _condition(
    decided: Element, feedback: str = "", score: str = "", proceed: str = "No"
) -> Element:
    """A rule of a question; what is asked by it goes into the element that comes back."""
    condition = add(decided, "respcondition", **{"continue": proceed})
    asked = add(condition, "conditionvar")
    if score:
        add(condition, "setvar", score, action="Set", varname="SCORE")
    if feedback:
        add(condition, "displayfeedback", feedbacktype="Response", linkrefid=feedback)
    return asked


def _feedback(item: Element, ident: str, html: str) -> None:
    _material(add(add(item, "itemfeedback", ident=ident), "flow_mat"), html)


# ------------------------------------------------------------------------------------------ command


def write(to: Path, part: Part = WHOLE) -> list[str]:
    """Write all files of a part of the course, and say what each of them holds and what a platform cannot."""
    to.mkdir(parents=True, exist_ok=True)
    lectures = list(filter(part.teaches, questions.lectures()))
    asked = [each for lecture in lectures for each in questions.questions_of(lecture)]
    (to / "moodle.xml").write_bytes(for_moodle(lectures))
    with zipfile.ZipFile(to / "canvas.zip", "w", zipfile.ZIP_DEFLATED) as package:
        for name, content in for_canvas(lectures).items():
            package.writestr(name, content)
    cards = deck.write(to / deck.NAME, part)
    left_out = [question for question in asked if type(question) not in CANVAS_KINDS]
    numbers = sum(isinstance(question, questions.NumberQuestion) for question in asked)
    in_order = f"  Not in it, since Canvas has no steps to put in order: {'; '.join(map(name_of, left_out))}."
    return [
        f"{to / 'moodle.xml'}: {len(asked)} questions, a category a lecture.",
        f"{to / 'canvas.zip'}: {len(asked) - len(left_out)} questions, a quiz a lecture.",
        *([in_order] if left_out else []),
        f"  Questions that ask for a number: {numbers}. Canvas shows all their sentences on wrong answers together.",
        f"{to / deck.NAME}: {cards} cards for Anki.",
    ]


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--to", type=Path, default=ROOT / "build/questions")
    parser.add_argument("--only", default="", help='a part of the course, as "1-8"')
    chosen = parser.parse_args(arguments)
    try:
        print(*write(chosen.to, part_of(chosen.only)), sep="\n")
    except PartError as error:
        sys.exit(f"no questions: {error}")


if __name__ == "__main__":
    main()
