"""The types that torch prints beside the nodes of a graph: `f32[8, 16][16, 1]cpu`."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from workbench.compiler.sources.node_texts import bytes_of

_TENSOR = re.compile(r"(?:\w+\()?([a-z]\w*)\[([^\]]*)\](?:\[([^\]]*)\])?(\w+(?::\d+)?)?")
_DTYPES = {
    **{"bf16": ("bfloat16", 2), "f16": ("float16", 2), "f32": ("float32", 4)},
    **{"f64": ("float64", 8), "c32": ("complex32", 4), "c64": ("complex64", 8)},
    **{"c128": ("complex128", 16), "b8": ("bool", 1), "i8": ("int8", 1), "i16": ("int16", 2)},
    **{"i32": ("int32", 4), "i64": ("int64", 8), "u8": ("uint8", 1), "u16": ("uint16", 2)},
    **{"u32": ("uint32", 4), "u64": ("uint64", 8), "f8e4m3fn": ("float8_e4m3fn", 1)},
    **{"f8e5m2": ("float8_e5m2", 1), "f8e4m3fnuz": ("float8_e4m3fnuz", 1)},
    **{"f8e5m2fnuz": ("float8_e5m2fnuz", 1), "f8e8m0fnu": ("float8_e8m0fnu", 1)},
    **{"f4e2m1fnx2": ("float4_e2m1fn_x2", 1), "bits16": ("bits16", 2)},
}
"""Torch's abbreviations (torch/utils/_dtype_abbrs.py) with the names and the bytes."""

Dims = tuple[int | str, ...]


@dataclass(frozen=True, slots=True)
class TensorType:
    """What is known of a value; sizes may be symbolic, `bytes` is None then."""

    shape: Dims | None = None
    stride: Dims | None = None
    dtype: str | None = None
    device: str | None = None
    bytes: int | None = None


_UNKNOWN = TensorType()


@lru_cache(maxsize=16384)  # stages repeat the types of each other
def tensor_type(text: str | None) -> TensorType:
    """The type that a text names; of a number or a tuple nothing is known."""
    found = None if text is None else _TENSOR.match(text)
    if found is None or found[1] not in _DTYPES:
        return _UNKNOWN
    dtype, itemsize = _DTYPES[found[1]]
    shape = dims(found[2])
    stride = None if found[3] is None else dims(found[3])
    return TensorType(shape, stride, dtype, found[4], bytes_of(shape, itemsize))


def bytes_of_dtype(dtype: str) -> int | None:
    """Bytes of one element, by the dtype's name without `torch.`."""
    return next((size for name, size in _DTYPES.values() if name == dtype), None)


def dims(text: str) -> Dims:
    """Sizes; a comma in brackets, as in `Max(1, s0)`, is part of a size."""
    parts, depth, start = [], 0, 0
    for at, letter in enumerate(text):
        depth += (letter == "(") - (letter == ")")
        if letter == "," and depth == 0:
            parts.append(text[start:at].strip())
            start = at + 1
    last = text[start:].strip()
    parts += [last] if last else []
    return tuple(int(part) if part.isdigit() else part for part in parts)
