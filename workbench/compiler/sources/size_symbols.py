"""What torch's symbols of sizes stand for: `s52` is `b.shape[0]`, `u0` a number of some line."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

_SYMBOL = re.compile(r"\b(?:s|u|zs|zu|zf|zuf)\d+\b")
_SIZE = re.compile(r"L\['(\w+)'\]((?:\[[^\]]+\]|\.\w+(?!\w*\())*)(?:\.size\(\)\[(\d+)\])?")
_UNDECIDED = re.compile(
    r"Could not (guard on|extract specialized integer from) data-dependent expression (.+?) "
    r"\(unhinted: (.+?)\)\.(?=\s|$)",
    re.DOTALL,
)
SYMBOL_RECORDS = ("create_symbol", "create_unbacked_symbol", "symbolic_shape_specialization")
"""The kinds of torch's records that `SizeSymbols` takes."""
_UNNAMED = re.compile(r"[us]\d+")  # of which torch's trace does not say where it came from
BRANCH = (
    "the line branches on tensor values, which do not exist at capture",
    "choose with torch.where(condition, a, b) or torch.cond(condition, f, g, inputs). Branches on "
    "sizes, dtypes or Python values can stay",
)
"""Reason and cure of an `if` on data."""
NUMBER = (
    "the line needs a Python value (a list index, a choice of operator, or a size) computed from "
    "tensor values, which do not exist at capture",
    "to choose among operators, compute every candidate and pick with torch.where or "
    "torch.stack(candidates)[index], or package each variant as its own model: "
    "wb.package({'relu': ..., 'sigmoid': ...}, ...); for a size, bound it with torch._check(n <= "
    "most) after n = x.item()",
)
"""Reason and cure of a number of Python that is computed from data."""

LineOf = Callable[[Sequence[Mapping[str, Any]]], str | None]
"""The user's line of a stack as torch's trace gives it, such as `model.py:7: "m = b[a > 0]"`."""


def describe_line(
    files: Mapping[int, str],
    stack: Sequence[Mapping[str, Any]],
    shown: Callable[[str], str],
    *choices: Callable[[str], bool],
) -> str | None:
    """The innermost line of a stack of torch's trace in a file of the first choice that has one."""
    frames = [(files.get(frame.get("filename", -1), ""), frame) for frame in stack]
    for is_chosen in choices:
        if fitting := [pair for pair in frames if pair[0] and is_chosen(pair[0])]:
            file, frame = fitting[-1]
            place = f"{shown(file)}:{frame.get('line')} in {frame.get('name')}"
            return f'{place}: "{str(frame.get("loc") or "").strip()}"'
    return None


@dataclass(frozen=True)
class FixedSize:
    """A size that was to be dynamic and that a line, where it is known, fixed to a value."""

    place: str
    value: str
    line: str | None

    @property
    def note(self) -> str:
        """The sentence for the user."""
        by = f": {self.line}" if self.line else " by the code or a weight"
        return f"{self.place} was requested as dynamic, but is fixed to {self.value}{by}"


@dataclass
class SizeSymbols:
    """The symbols of each compilation, from the records in which torch makes and fixes them.

    A compilation that begins anew makes its symbols again; the last one counts.
    """

    line_of: LineOf
    _places: dict[str | None, dict[str, str]] = field(default_factory=dict)
    _lines: dict[str | None, dict[str, str | None]] = field(default_factory=dict)
    _fixed: dict[str | None, dict[str, FixedSize]] = field(default_factory=dict)
    _last: str | None = None

    def take(self, kind: str, meta: Mapping[str, Any], compile_id: str | None) -> None:
        """Read one record: `create_symbol`, `create_unbacked_symbol`, or one that fixes a size."""
        self._last = compile_id
        stack = meta.get("user_stack") or ()
        if kind == "create_symbol":
            place = in_words(str(meta["source"]))
            self._places.setdefault(compile_id, {})[str(meta["symbol"])] = place
            self._fixed.get(compile_id, {}).pop(place, None)
        elif kind == "create_unbacked_symbol":
            self._lines.setdefault(compile_id, {})[str(meta["symbol"])] = self.line_of(stack)
        else:
            for source in meta["sources"]:
                row = FixedSize(in_words(str(source)), str(meta["value"]), self.line_of(stack))
                self._fixed.setdefault(compile_id, {})[row.place] = row

    def fixed(self) -> list[FixedSize]:
        """The sizes that were to be dynamic and are not, of the last compilation."""
        return list(self._fixed.get(self._last, {}).values())

    def named(self, text: str, compile_id: str | None = None) -> str:
        """A text of torch's with the sizes in place of the symbols that are known.

        What is computed from data keeps its symbol, and its line is said at the end.
        """
        of = self._last if compile_id is None else compile_id
        places, lines = self._places.get(of, {}), self._lines.get(of, {})
        if not places and not lines:
            return text
        symbols = [s for s in dict.fromkeys(_SYMBOL.findall(text)) if lines.get(s)]
        words = _SYMBOL.sub(lambda m: places.get(m[0], m[0]), text)
        origins = [f"{symbol} is computed from data at {lines[symbol]}" for symbol in symbols]
        return f"{words.rstrip('.')}, where {' and '.join(origins)}" if origins else words


def in_words(place: str) -> str:
    """Sizes as people write them: `x.shape[0]` instead of `L['x'].size()[0]`."""
    return _SIZE.sub(lambda m: f"{m[1]}{m[2]}" + ("" if m[3] is None else f".shape[{m[3]}]"), place)


def find_undecided(words: str) -> tuple[str, bool] | None:
    """The condition on data in torch's message, and whether a number is asked for; else None."""
    match = _UNDECIDED.search(words)
    return None if match is None else (" ".join(match[3].split()), match[1].startswith("extract"))


def explain_data_dependence(
    words: str, symbols: SizeSymbols, compile_id: str | None = None
) -> str | None:
    """The reason in words about the user's tensors for such a message of torch's; else None."""
    undecided = find_undecided(words)
    if undecided is None:
        return None
    condition, is_number = undecided
    named = symbols.named(condition, compile_id)
    if is_number:
        return NUMBER[0] if _UNNAMED.fullmatch(named) else f"{NUMBER[0]}. Torch asked for {named}"
    return f"{BRANCH[0]}. Torch cannot decide whether {named}"
