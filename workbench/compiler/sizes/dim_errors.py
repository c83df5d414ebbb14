"""A declared range of sizes that does not hold: what torch says of it, as people write it."""

from __future__ import annotations

import re
from collections.abc import Mapping

from workbench.compiler.sources.size_symbols import in_words

HEAD = "dynamic_shapes does not hold for "
_SHOWN = 2  # conditions that are spelled out
_RANGE = re.compile(
    r"Not all values of (\S+) = (.*?) in the specified range (.*?) satisfy the "
    r"generated guard (.*?)\.?$"
)
_FIXED = re.compile(
    r"You marked (.*?) as dynamic but your code specialized it to be a constant \((\d+)\)"
)
_FIXED_CURE = "leave that dimension out of dynamic_shapes, or change the code"
_BETWEEN = re.compile(r"^(\d+) <= (\S+) and \2 <= (\d+)$")
_NARROWER = re.compile(r"needs (\d+) <= \S+ <= (\d+)$")


def is_violated(error: Exception) -> bool:
    """Whether torch refuses because a declared range does not hold."""
    return "Constraints violated" in str(error)


def list_conditions(words: str, lines: Mapping[str, str | None] | None = None) -> list[str]:
    """A line for each condition that torch's text names, the first few spelled out.

    `lines` are the user's that fixed a size, by its place.
    """
    said = (in_words(line[4:]) for line in words.splitlines() if line.startswith("  - "))
    conditions = [short(condition, lines or {}) for condition in said]
    rest = len(conditions) - _SHOWN
    more = [f"  … and {rest} more that follow from the same"] if rest > 0 else []
    return [*(f"  - {condition}" for condition in conditions[:_SHOWN]), *more]


def short(condition: str, lines: Mapping[str, str | None]) -> str:
    """One condition of torch's, with the sizes named, in fewer words."""
    broken = _RANGE.match(condition)
    if broken is not None:
        name, place, declared, guard = broken.groups()
        what = "" if name == place else f"{name} ({place}) is declared "
        needed = _BETWEEN.sub(r"\1 <= \2 <= \3", guard)
        said = f"{what}{declared}" if what else f"{declared} is declared"
        return f"{said}, but the code needs {needed}"
    fixed = _FIXED.match(condition)
    if fixed is not None:
        by = lines.get(fixed[1]) or "the code or a weight"
        return f"{fixed[1]} is declared dynamic, but {by} fixes it to {fixed[2]}"
    return condition.rstrip(".")


def explained(name: str, words: str, lines: Mapping[str, str | None]) -> str:
    """The message for torch's text about a compilation of `name` that keeps guards."""
    shown = list_conditions(words, lines)
    fixed = all(" is declared dynamic, but " in line for line in shown)
    cure = _FIXED_CURE if fixed else _cure(shown[0])
    return "\n".join([f"{HEAD}{name}:", *shown, f"  Cure: {cure}."])


def _cure(condition: str) -> str:
    kept = "leave max out: then the condition is a guard, and a call that breaks it is refused"
    narrower = _NARROWER.search(condition)
    if narrower is None:
        return kept
    return (
        f"declare min={narrower[1]} and max={narrower[2]} there, or {kept}. Which code is made "
        "depends on the example's size: for other sizes compile again, with such an example"
    )
