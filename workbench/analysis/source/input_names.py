"""What the inputs of a lowered graph are called: by their place in the captured graph."""

from __future__ import annotations

import re

_NUMBERED = re.compile(r"(?:arg(\d+)_1|primals_(\d+))$")
_STATE = re.compile(r"_(?:parameters|buffers)_")


def place_of(name: str) -> int | None:
    """The place in the captured graph of an input that later stages number; None for others."""
    match = _NUMBERED.match(name)
    if match is None:
        return None
    return int(match[1]) if match[1] is not None else int(match[2]) - 1


def is_weight_name(target: str) -> bool:
    """Whether Dynamo's name of an input is one of a parameter or buffer."""
    return _STATE.search(f"_{target}") is not None


def name_input(target: str) -> str:
    """`L_self_modules_qkv_parameters_weight_` as a person would say it: `qkv.weight`."""
    text = target.removeprefix("L_").removeprefix("l_").removesuffix("_")
    if not is_weight_name(target):
        return text
    text = text.removeprefix("self_")
    return re.sub(r"_?(?:modules|parameters|buffers)_", ".", text).lstrip(".")
