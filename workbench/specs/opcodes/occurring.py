"""The opcodes in a text of a compiler's stage."""

from __future__ import annotations

import re
from collections.abc import Iterator

_SASS = re.compile(r"^\s*(?:/\*[0-9a-f]{4,}\*/)?\s*(@!?U?P\w+\s+)?([A-Z][A-Z0-9_.]*)", re.M)
_PTX = re.compile(r"^\s*\{?\s*(@!?%?\w+\s+)?(\.?[a-z]\w*(?:(?:\.|::)\w+)*)(?=[\s;]|$)", re.M)
_AMD = re.compile(r"^\s*(\.?[a-z]\w+)(?=\s|$)", re.M)
_MLIR = re.compile(r'^\s*(?:[%\w:#, ]+ = )?"?([a-z]\w*\.[a-z_0-9.]*\w)', re.M)
_LLVM = re.compile(r"^[ \t]+(?:%[\w.]+ = )?(?:(?:tail|musttail|notail) )?([a-z]\w*)(?=\s)", re.M)
_INTRINSIC = re.compile(r"@(llvm\.[\w.]+)")


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


def _amd(text: str) -> Iterator[str]:
    yield from _AMD.findall(text)


def _mlir(text: str) -> Iterator[str]:
    yield from _MLIR.findall(text)


def _llvm(text: str) -> Iterator[str]:
    yield from _LLVM.findall(text)
    yield from _INTRINSIC.findall(text)


_FOUND = {
    "sass": _sass,
    "ptx": _ptx,
    "amdgcn": _amd,
    "ttir": _mlir,
    "ttgir": _mlir,
    "llir": _llvm,
}
