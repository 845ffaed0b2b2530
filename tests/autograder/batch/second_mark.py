"""Marks worked out a second time, in decimal numbers, from docs/instructors.md alone.

Nothing of the grader is used here, and nothing of this there. Numbers come as texts, as a person writes them.
"""

from decimal import ROUND_CEILING, ROUND_HALF_UP, Decimal, localcontext
from fractions import Fraction


def half_up(number, decimals):
    """The number as a text with so many decimals, rounded once, half up."""
    with localcontext() as context:
        context.prec = 200
        over, under = number.as_integer_ratio()
        exact = Decimal(over) / Decimal(under)
        return str(exact.quantize(Decimal(1).scaleb(-decimals), rounding=ROUND_HALF_UP))


def penalty(earned, minutes_late, grace_hours, percent_a_day, most_percent):
    """What coming in late costs: a share for each day begun after the grace, up to the most."""
    after = Decimal(minutes_late) - 60 * Decimal(grace_hours)
    if after <= 0:
        return Decimal(0)
    days = (after / (24 * 60)).to_integral_value(rounding=ROUND_CEILING)
    percent = min(days * Decimal(percent_a_day), Decimal(most_percent))
    return earned * percent / 100


def points(cells, minutes_late, plugin):
    """What counts of an assignment: the sum of its cells less the penalty."""
    earned = sum(map(Decimal, cells), Decimal(0))
    return max(Decimal(0), earned - penalty(earned, minutes_late, *plugin))


def mark(handed_in, of, rules, excused):
    """A student's mark as a text, whether it passes, and the grade; None where nothing counts.

    Args:
        handed_in: points by assignment; what is not there is worth nothing.
        of: what each assignment gives at most.
        rules: as term.toml has them, with numbers as texts.
        excused: assignments that do not count.
    """
    shares = {
        name: Fraction(handed_in.get(name, Decimal(0))) / Fraction(most)
        for name, most in of.items()
        if name not in excused
    }
    weights = rules.get("weights") or {
        name: most for name, most in of.items() if name not in rules.get("bonus", {})
    }
    weights = {name: Fraction(weight) for name, weight in weights.items() if name in shares}
    if not weights:
        return None
    for _ in range(rules.get("drop_worst", 0)):
        if len(weights) > 1:
            del weights[min(weights, key=lambda name: (shares[name], -weights[name]))]
    whole = sum(shares[name] * weight for name, weight in weights.items()) / sum(weights.values())
    percent = 100 * whole
    for name, most in rules.get("bonus", {}).items():
        percent += Fraction(most) * shares.get(name, 0)
    shown = half_up(min(percent, Fraction(100)), rules["decimals"])
    enough = all(
        100 * shares[name] >= Fraction(least)
        for name, least in rules.get("pass_in", {}).items()
        if name in shares
    )
    passed = enough and Decimal(shown) >= Decimal(rules["pass_at"])
    if not passed:
        return shown, False, "not passed"
    reached = [
        (Decimal(least), name)
        for name, least in rules["grades"].items()
        if Decimal(shown) >= Decimal(least)
    ]
    return shown, True, max(reached)[1]
