"""Sizes and lists of arguments as programs and printed graphs write them."""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache

from workbench.errors import UsageError

Dims = tuple[int | str, ...]
"""Sizes; one that is left open is the text that the program has for it."""

STRING = re.compile(r"'(?:[^'\\\n]|\\.)*'|\"(?:[^\"\\\n]|\\.)*\"")
_SIGN = re.compile(rf"{STRING.pattern}|[][(){{}},;:]")
_LONG = re.compile(r"\b(\d+)L+\b")
_ARITHMETIC: Mapping[type[ast.operator], Callable[[int, int], int]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
}
ITEM_BYTES = {
    "complex128": 16,
    **dict.fromkeys(("float64", "int64", "uint64", "complex64"), 8),
    **dict.fromkeys(("float32", "int32", "uint32", "complex32"), 4),
    **dict.fromkeys(("float16", "bfloat16", "int16", "uint16", "bits16"), 2),
    **dict.fromkeys(("int8", "uint8", "bool"), 1),
    **dict.fromkeys(("float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "float8_e5m2fnuz"), 1),
    **dict.fromkeys(("float8_e8m0fnu", "float4_e2m1fn_x2"), 1),
}
"""Bytes of one element, by the name of its type."""


def bytes_of(shape: tuple[int | str, ...], itemsize: int) -> int | None:
    """The bytes of a dense tensor; None where a size is symbolic."""
    size = itemsize
    for dim in shape:
        if not isinstance(dim, int):
            return None
        size *= dim
    return size


_LARGEST = 1 << 60  # bytes: so that sums of sizes stay in 64 bits


@lru_cache(maxsize=16384)  # layouts and arguments repeat
def split_parts(text: str, separator: str = ",") -> tuple[str, ...]:
    """What commas part, but for those inside of brackets and strings."""
    parts, depth, start = list[str](), 0, 0
    for match in _SIGN.finditer(text):
        sign = match[0]
        if sign in "([{":
            depth += 1
        elif sign in ")]}":
            depth -= 1
        elif sign == separator and depth == 0:
            parts.append(text[start : match.start()].strip())
            start = match.end()
    last = text[start:].strip()
    return (*parts, last) if last else tuple(parts)


@lru_cache(maxsize=16384)
def read_dims(text: str) -> Dims:
    """Sizes, such as `8, Max(1, s0)`, in C++ `8L`."""
    return tuple(
        int(part) if part.isdigit() else part for part in split_parts(_LONG.sub(r"\1", text))
    )


def normalize_expression(text: str) -> str:
    """An expression as Python itself writes it; raises `UsageError` for what is none."""
    try:
        return ast.unparse(ast.parse(text, mode="eval"))
    except (SyntaxError, ValueError) as error:
        raise UsageError(f"{text[:80]!r} is not a readable expression") from error


def count_strided_bytes(shape: Sequence[int], stride: Sequence[int], dtype: str) -> int | None:
    """Bytes from the first element to the last one: what `empty_strided` allocates.

    None for a type that is not known, and for a layout that no tensor has.
    """
    item = ITEM_BYTES.get(dtype)
    if item is None or len(shape) != len(stride):
        return None
    if 0 in shape:
        return 0
    size_bytes = (1 + sum((s - 1) * t for s, t in zip(shape, stride, strict=True))) * item
    return size_bytes if 0 < size_bytes < _LARGEST else None


def evaluate_all(sizes: Dims, known: Mapping[str, int]) -> tuple[int, ...] | None:
    """The numbers of sizes; None where one is not known."""
    if str not in map(type, sizes):
        return sizes  # type: ignore[return-value]
    values = [evaluate(size, known) if isinstance(size, str) else size for size in sizes]
    numbers = tuple(number for number in values if number is not None)
    return numbers if len(numbers) == len(values) else None


def evaluate(text: str, known: Mapping[str, int]) -> int | None:
    """The number that a text such as `2*s77` or, in C++, `static_cast<int64_t>(2L*s77)` says."""
    parsed = _parse(text)
    return None if parsed is None else _evaluate(parsed, known)


@lru_cache(maxsize=4096)
def _parse(text: str) -> ast.expr | None:
    plain = _LONG.sub(r"\1", text.replace("static_cast<int64_t>", ""))
    try:
        return ast.parse(plain.strip(), mode="eval").body
    except (SyntaxError, ValueError):
        return None


def _evaluate(value: ast.expr, values: Mapping[str, int]) -> int | None:
    match value:
        case ast.Constant(value=int(number)):
            return number
        case ast.Name(id=name):
            return values.get(name)
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            inner = _evaluate(operand, values)
            return None if inner is None else -inner
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _ARITHMETIC:
            a, b = _evaluate(left, values), _evaluate(right, values)
            return None if a is None or b is None else _ARITHMETIC[type(op)](a, b)
        case ast.Call(func=ast.Name(id="max" | "min" as which), args=args):
            parts = [_evaluate(part, values) for part in args]
            numbers = [part for part in parts if part is not None]
            is_known = bool(numbers) and len(numbers) == len(parts)
            return (max if which == "max" else min)(numbers) if is_known else None
    return None
