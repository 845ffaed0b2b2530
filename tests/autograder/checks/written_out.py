"""An answer of a bank as a student would have written it: its code, and all that it needs of the course's."""

import ast
import importlib
import inspect
from functools import cache

COURSE = ("assignments", "course_utils", "lecture_kit")


def written_out(code):
    """The source of a function or class, of what it uses of the course, and its imports of all else."""
    found, done = {}, set()
    todo = [(code.__module__, code.__qualname__.partition(".")[0])]
    while todo:
        place = module, name = todo.pop()
        if place in done:
            continue
        done.add(place)
        for statement in _statements(module):
            if isinstance(statement, ast.Import | ast.ImportFrom):
                alias = next((each for each in statement.names if _name(each) == name), None)
                origin = getattr(statement, "module", None) or (alias.name if alias else "")
                if alias and origin.partition(".")[0] in COURSE:
                    todo.append((origin, alias.name))
                elif alias and not origin.startswith("autograder"):
                    found[place] = _one_of(statement, alias)
            elif name in _bound_by(statement):
                found[place] = ast.unparse(statement)
                todo += [
                    (module, each.id) for each in ast.walk(statement) if isinstance(each, ast.Name)
                ]
    return "\n".join(found.values())


@cache
def _statements(module):
    """Those of a module, without the decorators that put answers into banks and lists of mistakes."""
    body = ast.parse(inspect.getsource(importlib.import_module(module))).body
    for statement in body:
        if isinstance(statement, ast.FunctionDef | ast.ClassDef):
            statement.decorator_list = [
                each
                for each in statement.decorator_list
                if not ast.unparse(each).startswith("BANK") and "mistake" not in ast.unparse(each)
            ]
    return body


def _name(alias):
    return (alias.asname or alias.name).partition(".")[0]


def _one_of(statement, alias):
    if isinstance(statement, ast.ImportFrom):
        return ast.unparse(ast.ImportFrom(statement.module, [alias], statement.level))
    return ast.unparse(ast.Import([alias]))


def _bound_by(statement):
    match statement:
        case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
            return {name}
        case ast.Assign(targets):
            return {target.id for target in targets if isinstance(target, ast.Name)}
        case ast.AnnAssign(ast.Name(name)):
            return {name}
    return set()
