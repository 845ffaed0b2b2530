"""A class in which some have copied, made of the answers that the banks hold.

    python -m tests.autograder.batch.planted [ASSIGNMENT ...]

Each student takes an answer to every part from the bank or from the named mistakes and writes it in a
way of their own: names for steps or none, methods or functions, this or that call for the same thing.
Who copies takes another's answers, renames everything, puts functions, methods and cells into another
order, lays all of it out anew and adds comments. The command says how many of twenty copies in a class
of 300 are found, how many pairs are named that did not copy, and how long it takes.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import random
import sys
import textwrap
from collections import defaultdict
from functools import cache

import nbformat

from assignments import known, load
from autograder.batch.similarity import similar_pairs
from tests.sample_class import ROOT

STUDENTS, COPIES = 300, 20
RIGHT = 0.6  # of all answers


@cache
def bank_of(assignment):
    """Texts of right and of wrong answers by part, as (name of the function or class, text)."""
    found = defaultdict(lambda: ([], []))
    for answer in importlib.import_module(f"assignments.{assignment}.answers").BANK.answers:
        found[answer.part][not answer.right].append((answer.code.__name__, text_of(answer.code)))
    for part in load(assignment).parts:
        for mistake in part.mistakes:
            # those that override a step have no text that anybody would hand in
            text = "" if mistake.combines else text_of(mistake.answer)
            if text.startswith(("def ", "class ", "@")):
                found[part.name][1].append((mistake.answer.__name__, text))
    return dict(found)


def text_of(code):
    """The source of an answer, of a class with those of the bank that it inherits from."""
    kinds = [code]
    if inspect.isclass(code):
        kinds = [kind for kind in code.__mro__ if kind.__module__.startswith("assignments")]
    try:
        return "\n".join(textwrap.dedent(inspect.getsource(kind)) for kind in reversed(kinds))
    except (OSError, TypeError):  # a mistake that was made while the program ran
        return ""


def answer_to(part, name, text):
    """The text as a student would hand it in, under the name of the part."""
    tree = ast.parse(text)
    for top in tree.body:
        top.decorator_list = []
        if top.name == name:
            top.name = part
    return tree


class Habits(ast.NodeTransformer):
    """One student's way of writing, which leaves what is computed as it is."""

    def __init__(self, chance):
        self.chance = chance
        self.matmul, self.keyword, self.shape = (chance.random() < 0.4 for _ in range(3))
        self.result, self.flip, self.longhand = (chance.random() < 0.35 for _ in range(3))
        self.softmax = chance.choice(("method", "torch", "F"))
        self.transpose = chance.choice((None, (-2, -1), (-1, -2)))
        self.root = chance.choice((None, "math", "np"))
        self.named = chance.choice((0, 0.1, 0.25, 0.5))  # of the steps that get a name
        self.unpack, self.looks = chance.random() < 0.3, chance.random() < 0.12
        self.count = 0

    def visit_BinOp(self, node):
        self.generic_visit(node)
        half = isinstance(node.right, ast.Constant) and node.right.value == 0.5
        if isinstance(node.op, ast.MatMult) and self.matmul:
            return called("torch.matmul", node.left, node.right)
        if isinstance(node.op, ast.Pow) and half and self.root:
            return called(f"{self.root}.sqrt", node.left)
        return node

    def visit_Attribute(self, node):
        self.generic_visit(node)
        if node.attr != "mT" or self.transpose is None:
            return node
        axes = map(ast.Constant, self.transpose)
        return ast.Call(ast.Attribute(node.value, "transpose", ast.Load()), [*axes], [])

    def visit_Call(self, node):
        self.generic_visit(node)
        match node:
            case ast.Call(ast.Attribute(ast.Name("torch" | "F"), "softmax"), [x, axis], []):
                return self._softmax(x, axis)
            case ast.Call(ast.Attribute(ast.Name("torch" | "F"), "softmax"), [x], [keyword]):
                return self._softmax(x, keyword.value)
            case ast.Call(ast.Attribute(x, "softmax"), [axis], []):
                return self._softmax(x, axis)
            case ast.Call(ast.Name("len"), [x], []) if self.shape:
                return ast.parse(f"({ast.unparse(x)}).shape[0]", mode="eval").body
        return node

    def _softmax(self, x, axis):
        plain = [] if self.keyword else [axis]
        named = [ast.keyword("dim", axis)] if self.keyword else []
        if self.softmax == "method":
            return ast.Call(ast.Attribute(x, "softmax", ast.Load()), plain, named)
        function = ast.Attribute(ast.Name(self.softmax, ast.Load()), "softmax", ast.Load())
        return ast.Call(function, [x, *plain], named)

    def visit_If(self, node):
        self.generic_visit(node)
        match node:
            case ast.If(ast.Compare(_, [ast.Is() | ast.IsNot() as sign]), _, [_, *_]) if self.flip:
                node.test.ops = [ast.IsNot() if isinstance(sign, ast.Is) else ast.Is()]
                node.body, node.orelse = node.orelse, node.body
        return node

    def visit_FunctionDef(self, node):
        self.generic_visit(node)
        node.body = self._block(node.body)
        arguments = [item.arg for item in node.args.args if item.arg != "self"]
        if node.name != "__init__" and arguments:
            if self.unpack and self.chance.random() < 0.6:
                node.body.insert(0, ast.parse(f"b, t, d = {arguments[0]}.shape").body[0])
            if self.looks and self.chance.random() < 0.5:
                place = self.chance.randrange(len(node.body))
                node.body.insert(place, ast.parse(f"print({arguments[0]}.shape)").body[0])
        return node

    def _block(self, body):
        written = []
        for statement in body:
            for inner in ("body", "orelse"):
                if isinstance(statement, ast.If | ast.For | ast.While | ast.With):
                    setattr(statement, inner, self._block(getattr(statement, inner, [])))
            match statement:
                case ast.AugAssign(ast.Name(name) as target, operator, value) if self.longhand:
                    statement = ast.Assign(
                        [target], ast.BinOp(ast.Name(name, ast.Load()), operator, value)
                    )
                case ast.Assign(targets, ast.IfExp(test, one, other)) if self.longhand:
                    statement = ast.If(
                        test, [ast.Assign(targets, one)], [ast.Assign(targets, other)]
                    )
            if isinstance(statement, ast.Assign | ast.Return) and statement.value is not None:
                written += self._named_steps(statement)
            else:
                written.append(statement)
        return written

    def _named_steps(self, statement):
        """The statement, with names for some of the steps in it, each on a line of its own."""
        before = []
        habits, whole = self, statement.value

        class Steps(ast.NodeTransformer):
            def visit(self, node):
                if isinstance(node, ast.Lambda | ast.comprehension | ast.IfExp | ast.BoolOp):
                    return node
                if isinstance(node, ast.ListComp | ast.GeneratorExp | ast.SetComp | ast.DictComp):
                    return node
                self.generic_visit(node)
                step = isinstance(node, ast.BinOp | ast.Call) and node is not whole
                if step and habits.chance.random() < habits.named:
                    before.append(habits._assign(node))
                    return ast.Name(before[-1].targets[0].id, ast.Load())
                return node

        statement.value = Steps().visit(whole)
        if isinstance(statement, ast.Return) and self.result:
            before.append(self._assign(statement.value))
            statement = ast.Return(ast.Name(before[-1].targets[0].id, ast.Load()))
        return [*before, statement]

    def _assign(self, value):
        self.count += 1
        return ast.Assign([ast.Name(f"step_{self.count}", ast.Store())], value)


def called(name, *arguments):
    return ast.Call(ast.parse(name, mode="eval").body, [*arguments], [])


def student(assignment, chance):
    """One student's answers, by part."""
    habits, answers = Habits(chance), {}
    for part, (right, wrong) in bank_of(assignment).items():
        name, text = chance.choice(right if chance.random() < RIGHT else wrong)
        tree = habits.visit(answer_to(part, name, text))
        answers[part] = ast.unparse(ast.fix_missing_locations(tree))
    return answers


class Renamed(ast.NodeTransformer):
    def __init__(self, names):
        self.names = names

    def visit_Name(self, node):
        node.id = self.names.get(node.id, node.id)
        return node

    def visit_arg(self, node):
        node.arg, node.annotation = self.names.get(node.arg, node.arg), None
        return node


def copied(answers, chance):
    """The same answers so that they look like another's."""
    found = []
    for part, text in answers.items():
        tree = ast.parse(text)
        names = {node.arg for node in ast.walk(tree) if isinstance(node, ast.arg)}
        names |= {
            node.id
            for node in ast.walk(tree)
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
        }
        new = {name: f"my_{place}" for place, name in enumerate(sorted(names - {"self"}))}
        tree = Renamed(new).visit(tree)
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef):
                chance.shuffle(node.body)
            if isinstance(node, ast.FunctionDef):
                node.body.insert(0, ast.Expr(ast.Constant("What I do here.")))
        chance.shuffle(tree.body)
        lines = ast.unparse(ast.fix_missing_locations(tree)).split("\n")
        laid_out = [f"{line}  # {chance.choice(('so', 'then', 'here'))}\n" for line in lines]
        found.append((part, "\n".join(laid_out)))
    chance.shuffle(found)
    return dict(found)


def class_with_copies(assignment, students=STUDENTS, copies=COPIES, seed=1):
    """A class and who copied from whom.

    Returns:
        the code cells of each student, and the pairs (from, copy), in the order of the alphabet.
    """
    chance = random.Random(f"{assignment} {seed}")
    honest = {f"a{place:03d}": student(assignment, chance) for place in range(students - copies)}
    pairs = [
        (name, f"c{place:03d}") for place, name in enumerate(chance.sample(sorted(honest), copies))
    ]
    everybody = honest | {copy: copied(honest[name], chance) for name, copy in pairs}
    return {name: [*answers.values()] for name, answers in everybody.items()}, set(pairs)


def given_out(assignment):
    """The code of an assignment's release and of its solution."""
    paths = [
        ROOT / kind / assignment / f"{assignment}.ipynb" for kind in ("solutions", "exercises")
    ]
    cells = [cell for path in paths for cell in nbformat.read(path, as_version=4).cells]
    return [cell.source for cell in cells if cell.cell_type == "code"]


def measured(assignment, **sizes):
    """Copies found, copies there are, and pairs named that did not copy."""
    answers, copies = class_with_copies(assignment, **sizes)
    parts = [part.name for part in load(assignment).parts]
    given = given_out(assignment)
    found = {pair.students for pair in similar_pairs(answers, parts, given)}
    return len(found & copies), len(copies), len(found - copies)


if __name__ == "__main__":
    row = "{:<32}{:>8}{:>8}{:>8}"
    print(row.format("assignment", "copies", "found", "false"))
    for name in sys.argv[1:] or known():
        right, there, wrong = measured(name)
        print(row.format(name, there, right, wrong))
