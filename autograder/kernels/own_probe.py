"""The probe as a kernel uses it: a copy of its modules that no other module knows.

A submission can import `autograder.probe` and put its own functions into it. What is asked here goes
through modules that were made before it ran, stand in no list, and import each other.
"""

from __future__ import annotations

import builtins
import importlib.util
from collections.abc import Callable
from types import ModuleType
from typing import Any

PACKAGE = "autograder.probe."
# it hands its objects to a submission, which so could look into its modules
SHARED = (f"{PACKAGE}scripted",)


def own_answer() -> Callable[..., bytes]:
    """`autograder.probe.probe.answer`, out of modules of its own."""
    modules: dict[str, ModuleType] = {}
    own_package = ModuleType(PACKAGE[:-1])
    everybodys = builtins.__import__

    def own_import(name: str, *rest: Any, **named: Any) -> ModuleType:
        if name == PACKAGE[:-1]:  # from it, modules are imported
            for module in rest[2]:
                own_import(PACKAGE + module)
            return own_package
        if not name.startswith(PACKAGE) or name in SHARED:
            return everybodys(name, *rest, **named)
        if name not in modules:
            spec: Any = importlib.util.find_spec(name)
            module = modules[name] = importlib.util.module_from_spec(spec)
            vars(module)["__builtins__"] = own_builtins
            exec(spec.loader.get_code(name), vars(module))  # noqa: S102 (ours)
            setattr(own_package, name.removeprefix(PACKAGE), module)
        return modules[name]

    own_builtins = {**vars(builtins), "__import__": own_import}
    own_import(f"{PACKAGE}drawing")  # what the others import only when they need it
    probe: Any = own_import(f"{PACKAGE}probe")
    probe.prepare()
    return probe.answer
