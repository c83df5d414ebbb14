"""Number formats that numpy does not have: bits to values, and values rounded to bits."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

Array = np.ndarray[Any, Any]

_FORMATS = {
    "bf16": torch.bfloat16,
    "fp8e4nv": torch.float8_e4m3fn,
    "fp8e5": torch.float8_e5m2,
    "fp8e4b8": torch.float8_e4m3fnuz,
    "fp8e5b16": torch.float8_e5m2fnuz,
}
_BITS = {1: (np.uint8, torch.uint8), 2: (np.uint16, torch.uint16)}


def is_coded(dtype: Any) -> bool:
    """Whether the interpreter holds numbers of this Triton type as bits."""
    return getattr(dtype.scalar, "name", "") in _FORMATS


def decode(data: Array, dtype: Any) -> Array:
    """The values behind bits, in float32, which holds all of them exactly."""
    if not is_coded(dtype):
        return data
    coded = _FORMATS[dtype.scalar.name]
    bits = torch.from_numpy(np.ascontiguousarray(data))
    values: Array = bits.view(coded).to(torch.float32).numpy()
    return values


def encode(values: Array, dtype: Any, *, towards_zero: bool = False) -> Array:
    """Bits of the nearest number, ties to even; 8-bit formats saturate, as GPUs convert to them."""
    if not is_coded(dtype):
        return values
    coded = _FORMATS[dtype.scalar.name]
    wide = torch.from_numpy(np.ascontiguousarray(values, dtype=np.float32))
    if coded.itemsize == 1:
        most = torch.finfo(coded).max
        wide = wide.clamp(-most, most)
    elif towards_zero:
        wide = (wide.view(torch.int32) & -65536).view(torch.float32)
    bits: Array = wide.to(coded).view(_BITS[coded.itemsize][1]).numpy()
    return bits
