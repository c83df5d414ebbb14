"""Explains an opcode by its parts: what it does, then each modifier."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

_TABLES = {
    "ptx": "ptx",
    "sass": "sass",
    "amdgcn": "amdgcn",
    "ttir": "triton",
    "ttgir": "triton",
    "llir": "llvm",
}


_SASS = re.compile(r"^\s*(?:/\*[0-9a-f]{4,}\*/)?\s*(@!?U?P\w+\s+)?([A-Z][A-Z0-9_.]*)", re.M)
_PTX = re.compile(r"^\s*\{?\s*(@!?%?\w+\s+)?(\.?[a-z]\w*(?:(?:\.|::)\w+)*)(?=[\s;]|$)", re.M)
_AMD = re.compile(r"^\s*(\.?[a-z]\w+)(?=\s|$)", re.M)
_MLIR = re.compile(r'^\s*(?:[%\w:#, ]+ = )?"?([a-z]\w*\.[a-z_0-9.]*\w)', re.M)
_LLVM = re.compile(r"^[ \t]+(?:%[\w.]+ = )?(?:(?:tail|musttail|notail) )?([a-z]\w*)(?=\s)", re.M)
_INTRINSIC = re.compile(r"@(llvm\.[\w.]+)")


@dataclass(frozen=True, slots=True)
class Explanation:
    """What an instruction does, its modifiers in the order of the text, and who says so."""

    text: str
    parts: tuple[tuple[str, str], ...]
    source: str


@dataclass(frozen=True)
class _Table:
    """One file: `of` are modifiers that mean something else for one opcode."""

    source: str
    separator: str
    opcodes: Mapping[str, str]
    modifiers: Mapping[str, str]
    patterns: tuple[tuple[re.Pattern[str], str], ...]
    of: Mapping[str, Mapping[str, str]]

    def base(self, opcode: str) -> str | None:
        """The longest beginning that is an opcode of its own."""
        pieces = opcode.split(self.separator)
        for count in range(len(pieces), 0, -1):
            if (beginning := self.separator.join(pieces[:count])) in self.opcodes:
                return beginning
        return None

    def modifiers_of(self, base: str, opcode: str) -> list[str]:
        """The pieces behind the opcode; a directive has none."""
        rest = "" if base.startswith(".") else opcode[len(base) :].strip(self.separator)
        return rest.split(self.separator) if rest else []

    def meaning(self, base: str, modifier: str) -> str | None:
        """What a modifier says."""
        text = self.of.get(base, {}).get(modifier) or self.modifiers.get(modifier)
        if text is not None:
            return text
        for pattern, words in self.patterns:
            if match := pattern.fullmatch(modifier):
                return words.format(*match.groups())
        return None


def explain(stage: str, opcode: str) -> Explanation | None:
    """The description of an opcode; None if it has none."""
    if stage not in _TABLES:
        return None
    table = _table(_TABLES[stage])
    base = table.base(opcode)
    if base is None:
        return None
    modifiers = ((name, table.meaning(base, name)) for name in table.modifiers_of(base, opcode))
    parts = tuple((name, meaning) for name, meaning in modifiers if meaning is not None)
    return Explanation(table.opcodes[base], parts, table.source)


def explanations(stage: str, text: str) -> dict[str, Explanation]:
    """The described opcodes that occur in a text."""
    by_opcode = {opcode: explain(stage, opcode) for opcode in sorted(opcodes_in(stage, text))}
    return {opcode: what for opcode, what in by_opcode.items() if what is not None}


def find_undescribed(stage: str, opcode: str) -> list[str]:
    """The parts of an opcode without description: itself, or some of its modifiers."""
    table = _table(_TABLES[stage])
    base = table.base(opcode)
    if base is None:
        return [opcode]
    modifiers = table.modifiers_of(base, opcode)
    return [f"{base} {name}" for name in modifiers if table.meaning(base, name) is None]


@cache
def _table(name: str) -> _Table:
    text = files(__package__).joinpath(f"{name}.toml").read_text(encoding="utf-8")
    data = tomllib.loads(text)
    return _Table(
        source=data["source"],
        separator=data["separator"],
        opcodes=data["opcodes"],
        modifiers=data.get("modifiers", {}),
        patterns=tuple((re.compile(p), words) for p, words in data.get("patterns", {}).items()),
        of=data.get("of", {}),
    )


def opcodes_in(stage: str, text: str) -> set[str]:
    """The opcodes of a text with their modifiers, `@` or `@!` where one has a predicate."""
    return set(_FOUND[stage](text)) if stage in _FOUND else set()


def _sass(text: str) -> Iterator[str]:
    for predicate, opcode in _SASS.findall(text):
        yield opcode
        if predicate:
            yield predicate.rstrip()[:2].rstrip("UP")


def _ptx(text: str) -> Iterator[str]:
    for predicate, opcode in _PTX.findall(text.replace(";", ";\n").replace("{", "{\n")):
        yield opcode
        if predicate:
            yield predicate[: 1 + (predicate[1] == "!")]


def _llvm(text: str) -> Iterator[str]:
    yield from _LLVM.findall(text)
    yield from _INTRINSIC.findall(text)


_FOUND: Mapping[str, Callable[[str], Iterable[str]]] = {
    "sass": _sass,
    "ptx": _ptx,
    "amdgcn": _AMD.findall,
    "ttir": _MLIR.findall,
    "ttgir": _MLIR.findall,
    "llir": _llvm,
}
