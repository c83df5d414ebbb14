"""What is wrong with an access of memory, and what helps, in a sentence.

A cure is said as one where the kernel was compiled again with it and the instruction grew wider;
else the sentence says what is known, and no more.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from workbench.compiler.sectors.sector_counts import Moved
from workbench.compiler.sectors.seen_accesses import SeenAccess as SeenAccess
from workbench.compiler.sectors.seen_accesses import find_call as find_call
from workbench.compiler.sectors.seen_accesses import find_width as find_width
from workbench.compiler.sectors.seen_accesses import list_unseen as list_unseen
from workbench.compiler.sectors.seen_accesses import see_accesses as see_accesses
from workbench.number_text import number_text, plural

Trouble = Literal[
    "", "narrow", "masked", "unaligned", "shifted", "pitched", "strided", "transposed", "gather"
]
_GOOD = 0.9  # of what is brought is used: nothing to say


@dataclass(frozen=True)
class WidenedAccess:
    """Arguments that were changed, each as (name, value, value tried), and the width it gave.

    Without a value an argument is a tensor that begins elsewhere.
    """

    changed: tuple[tuple[str, int | None, int | None], ...]
    width: int


def find_trouble(seen: SeenAccess) -> Trouble:
    """What keeps an access from being as wide and as dense as it could be; "" for nothing."""
    moved, width = seen.moved, seen.width
    if moved is None or width is None or not moved.steps or moved.sectors <= moved.least:
        return ""
    step = moved.steps[moved.axis]
    if step is None:
        return "gather" if moved.share_l1 < _GOOD else ""
    if abs(step) not in (0, seen.size):
        if moved.share_l1 >= _GOOD:
            return ""
        others = (each for axis, each in enumerate(moved.steps) if axis != moved.axis)
        return "transposed" if seen.size in others else "strided"
    if step == 0:
        return ""
    return _find_narrow(seen, moved, width) or _find_misplaced(moved)


def _find_narrow(seen: SeenAccess, moved: Moved, width: int) -> Trouble:
    """What keeps a thread from moving more with one instruction."""
    if seen.kind == "atomic":
        return ""
    if moved.fits > width:
        return "narrow"
    if moved.aligned > width:
        return "masked"
    return "unaligned" if moved.follow > max(width, moved.aligned) else ""


def _find_misplaced(moved: Moved) -> Trouble:
    """Why what follows one another lies in more sectors than its bytes would fill."""
    if moved.share >= _GOOD:
        return ""
    if moved.behind and moved.earlier < moved.sectors:
        return "shifted"
    return "pitched" if _find_pitch(moved) else ""


def _find_pitch(moved: Moved) -> int | None:
    """How far apart rows of a block are that begin elsewhere in their sector each; else None."""
    others = (step for axis, step in enumerate(moved.steps) if axis != moved.axis and step)
    return next((abs(step) for step in others if step % moved.sector), None)


def describe_access(seen: SeenAccess, cure: WidenedAccess | None = None) -> str:
    """The hint of a row: what is wrong, what helps; empty where nothing is."""
    trouble, moved = find_trouble(seen), seen.moved
    if not trouble or moved is None or seen.width is None:
        return ""
    wide, narrow = plural(moved.follow, "byte"), plural(seen.width, "byte")
    used = number_text(moved.share, "percent")
    if trouble == "gather":
        return (
            f"A gather: the addresses of neighbouring elements have no pattern, and {used} of what "
            "an instruction brings is used. No layout mends that."
        )
    if trouble in ("strided", "transposed"):
        step = abs(moved.steps[moved.axis] or 0) // seen.size
        far = f"Neighbouring lanes are {step} elements apart in memory: {used} of what an"
        if trouble == "strided":
            return f"{far} instruction brings is used."
        axis = moved.steps.index(seen.size)
        return (
            f"{far} instruction brings is used. Elements that follow one another lie along axis "
            f"{axis} of the block: swap its axes, or the order in which it is loaded."
        )
    if trouble == "narrow":
        known = (
            f"The elements of a thread follow one another and are aligned to {moved.fits} bytes, "
            f"but are moved {narrow} at a time: the compiler did not know it."
        )
    elif trouble == "masked":
        known = (
            f"The elements of a thread follow one another and are aligned to {moved.aligned} "
            f"bytes, but the mask parts some of them, so that {narrow} are moved at a time."
        )
    elif trouble == "unaligned":
        known = (
            f"The elements of a thread follow one another, but {wide} of them do not begin at a "
            f"multiple of {moved.follow}, so that {narrow} are moved at a time."
        )
        if cure is None and moved.behind:
            known = f"{known} {_say_behind(seen, moved, moved.behind)}"
    elif trouble == "shifted":
        touched, fewer = (
            number_text(n / moved.instructions, "amount") for n in (moved.sectors, moved.earlier)
        )
        return (
            f"An instruction touches {touched} sectors, {fewer} if it began with one. "
            f"{_say_behind(seen, moved, moved.behind or 0)}"
        )
    else:
        return (
            f"The rows of a block are {plural(_find_pitch(moved) or 0, 'byte')} apart, no multiple "
            f"of {moved.sector}, so that they do not begin with a sector: {used} of what an "
            f"instruction brings is used. Rows that are padded to a multiple of {moved.sector} "
            "bytes all begin as the first does."
        )
    return known if cure is None else f"{known} {_say_cure(cure, trouble)}"


def _say_behind(seen: SeenAccess, moved: Moved, behind: int) -> str:
    """How far from the begin of a sector every instruction begins, and what moves it there."""
    name, multiple = seen.argument, f"a multiple of {moved.sector} bytes"
    far = f"{_count_elements(seen, behind)} ({plural(behind, 'byte')}) behind {multiple}"
    ahead = (behind - seen.start) % moved.sector  # what the index adds to where the argument begins
    if not ahead:
        return (
            f"{name} itself begins {far}: align it, as {name}.clone() does, or pass it from such a "
            "place on."
        )
    return (
        f"Every instruction begins {far}: take the first "
        f"{_count_elements(seen, moved.sector - behind)} apart, or pass {name} as a view that "
        f"begins {_count_elements(seen, ahead)} before one."
    )


def _count_elements(seen: SeenAccess, size: int) -> str:
    return plural(size // seen.size, "element")


def _say_cure(cure: WidenedAccess, trouble: Trouble) -> str:
    said, tried, does = [], [], []
    for name, value, other in cure.changed:
        if value is None:
            said.append(f"{name} does not begin at a multiple of 16 bytes")
            tried.append(f"with {name} aligned")
            does.append(f"pass {name} from such a place on")
        else:
            said.append(f"{name} = {value} is not divisible by 16")
            tried.append(f"with {name} = {other}")
            what = f"rows to {name} = {other}" if trouble == "unaligned" else f"{name} to {other}"
            does.append(f"pad {what}")
    return (
        f"{', and '.join(said)}; compiled again {' and '.join(tried)}, this line moves "
        f"{plural(cure.width, 'byte')} at a time: {', '.join(does)}."
    )
