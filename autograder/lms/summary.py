"""What a command of `autograder.lms` has done, as it is printed."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from autograder.files import printable


@dataclass
class Summary:
    """What was done, in lines, and whether nobody and nothing is left over."""

    lines: list[str]
    complete: bool = True

    def tell(self, what: str, who: Collection[object]) -> None:
        """Say of how many people something is true, and of whom; nothing where there is nobody."""
        if who:
            self.lines.append(f"{len(who)} {what}: {', '.join(printable(str(one)) for one in who)}")

    def miss(
        self, what: str, who: Collection[object], one_a_line: bool = False, count: int = 0
    ) -> None:
        """Say the same of those who are left over, one a line where a reason stands behind each.

        Args:
            what: what is true of them.
            who: who they are.
            one_a_line: whether a reason stands behind each.
            count: how many they are, where not each has a line.
        """
        if who and one_a_line:
            self.lines.append(f"{count or len(who)} {what}:")
            self.lines += [f"    {printable(str(one))}" for one in who]
        else:
            self.tell(what, who)
        self.complete &= not who
