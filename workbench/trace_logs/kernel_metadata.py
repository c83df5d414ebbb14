"""What metadata of a compilation say of its GPU and its configuration."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from workbench.specs import Catalogue
from workbench.specs.device import Device
from workbench.trace_logs.kernel_events import Compilation, part_of, word_in

_ARCH = re.compile(r"(?:sm_?)?(\d{2,3})[a-z]?")
_PLACE = re.compile(r"\((\d{1,4}),\)")
_NAME = re.compile(r"\s*\*{0,2}(\w+)")
_COMMENT = re.compile(r"#[^\n]*")
_OPEN, _CLOSED = "([{", ")]}"


def architecture(metadata: dict[str, Any]) -> str:
    """`sm_75`, `gfx942`, or empty where the log does not say."""
    arch = part_of(metadata, "target").get("arch") or metadata.get("arch")
    if isinstance(arch, str) and arch.startswith("gfx"):
        return arch.partition(":")[0]
    match = _ARCH.fullmatch(str(arch))
    return f"sm_{match[1]}" if match else ""


def find_device(arch: str) -> Device | None:
    """A GPU of an architecture: what its multiprocessors hold is the same for all of them."""
    known = (gpu for gpu in Catalogue.built_in() if gpu.arch == arch)
    return next(map(Device, known), None)


def describe_constants(compiled: Compilation) -> str:
    """The constants that were chosen for a configuration: `BLOCK_SIZE=1024`.

    Arguments that Triton made constants because they are 1 are left out where the source of the
    function tells them from the others.
    """
    constants = part_of(compiled.metadata, "src_constants")
    text = compiled.source.text if compiled.source else ""
    parameters = list_parameters(text, compiled.name)
    chosen = []
    for key, value in constants.items():
        match = _PLACE.fullmatch(key)
        place = int(match[1]) if match else -1
        declared = parameters[place] if 0 <= place < len(parameters) else key
        if not parameters or "constexpr" in declared or match is None:
            name = _NAME.match(declared)
            chosen.append(f"{name[1] if name and match else key}={str(value)[:80]}")
    return ", ".join(chosen)


def list_parameters(text: str, function: str) -> Sequence[str]:
    """The parameters of a function as they are declared, read without running or parsing Python."""
    _, found, rest = text.partition(f"def {function}(")
    rest = _COMMENT.sub("", rest)
    parts, depth, begin = [], 0, 0
    for at, letter in enumerate(rest):
        if letter in _OPEN:
            depth += 1
        elif letter in _CLOSED and depth:
            depth -= 1
        elif letter in _CLOSED or (letter == "," and not depth):
            parts.append(rest[begin:at].strip())
            begin = at + 1
            if letter != ",":
                return [part for part in parts if part and part not in "*/"] if found else []
    return []


def triton_versions(compilations: Sequence[Compilation]) -> str:
    """The versions of Triton that made them."""
    names = dict.fromkeys(word_in(one.metadata, "triton_version") for one in compilations)
    return ", ".join(filter(None, names))
