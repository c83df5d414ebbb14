"""What else of an earlier variant does not hold for a frame, beside the guard that torch names."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any

import torch

MOST = 64
"""Guards that are told of one variant: with one change to all layers of a model they are many."""
_LOCAL = re.compile(r"\bL\['(\w+)'\]")
_TENSOR = re.compile(
    r"^check_tensor\((?P<source>.+?), [\w.]+, (?:DispatchKeySet\([^)]*\)|None), "
    r"(?P<dtype>[\w.]+), device=\w+, requires_grad=(?P<grad>True|False), "
    r"size=\[(?P<size>[^\]]*)\], stride=\[(?P<stride>[^\]]*)\]\)"
)
_VALUE = re.compile(r"^(?P<source>(?:L|G)\[.+?) == (?P<expected>.+)$")
_OBJECT = re.compile(r"^___check_(?:obj|type)_id\(")


@dataclass(frozen=True)
class Scope:
    """The names that the guards of a variant are written in, with their values of one call."""

    names: Mapping[str, Any]

    def read(self, source: str) -> Any:
        """What stands at a source of torch's, such as `L['x'].size()[0]`; None where nothing does.

        A guard reads the same, so nothing is read that torch has not read.
        """
        try:
            return eval(source, dict(self.names))
        # the new call may lack what the old one had, and a user's property may raise anything
        except Exception:
            return None


def scope_of(entry: Any, frame: Any) -> Scope:
    """The names of a variant's guards, for the values of a frame.

    Torch leaves `L[…]` out of what it shows, so the values stand under their own names too.
    """
    manager = entry.guard_manager
    held = getattr(manager, "closure_vars", None) or {}
    globals_ = (getattr(manager, "global_scope", None) or {}).get("G", {})
    return Scope({**held, **frame.f_locals, "L": frame.f_locals, "G": globals_})


def translate_guard(text: str, arguments: tuple[str, ...]) -> str:
    """A guard as its user writes it: modules and parameters by the names of their attributes.

    Of a wrapper in the names of what it wraps: `args[0]` is its first argument. Torch's own wrapper
    calls what it wraps `fn`.
    """

    def name(match: re.Match[str]) -> str:
        at = int(match[1])
        return arguments[at] if at < len(arguments) else match[0]

    named = text
    if arguments:
        named = re.sub(r"\bargs\[(\d+)\]", name, named)
        named = re.sub(r"\bkwargs\['(\w+)'\]", r"\1", named)
        named = re.sub(r"\bfn(?=[.\[])", "self", named)
    named = re.sub(r"\._modules\['(\d+)'\]", r"[\1]", named)
    return re.sub(r"\._(?:modules|parameters|buffers)\['(\w+)'\]", r".\1", named)


def find_failed_guards(entry: Any, scope: Scope) -> list[str]:
    """The guards of a variant on tensors, values and objects that do not hold, in torch's words."""
    guards: dict[str, None] = {}
    for part in _parts(entry.guard_manager):
        for text in _failed(part, scope):
            guards.setdefault(_LOCAL.sub(r"\1", text))
        if len(guards) >= MOST:
            break
    return list(guards)


def read_actual_value(source: str, scope: Scope) -> str:
    """What a guard's source is now: a plain value as Python writes it, of others the kind."""
    value = scope.read(source)
    if isinstance(value, type):
        return f"{value.__module__}.{value.__qualname__}"
    if isinstance(value, torch.Tensor):
        return "a tensor"
    if isinstance(value, Enum):
        return str(value)
    is_plain = isinstance(value, str | bool | int | float | torch.dtype | torch.device)
    return repr(value) if is_plain and len(repr(value)) <= 80 else ""


def is_fixed(manager: Any, source: str, arguments: tuple[str, ...]) -> bool:
    """Whether the guards of a variant want one size or number at a source, in its user's names."""
    for part in _parts(manager):
        plain = translate_guard(_LOCAL.sub(r"\1", part), arguments)
        if plain.startswith(f"{source} == "):
            return True
        if (match := _TENSOR.match(plain)) and source.startswith(f"{match['source']}.size()["):
            at = int(source[len(match["source"]) + len(".size()[") : -1])
            sizes = _numbers(match["size"])
            return at < len(sizes) and sizes[at] is not None
    return False


def _parts(manager: Any) -> Iterator[str]:
    """What a variant wants, as torch writes it; what it asks of symbols stands apart."""
    yield from map(str, getattr(manager, "code_parts", ()))
    of_symbols = getattr(getattr(manager, "root", None), "get_epilogue_lambda_guards", None)
    for guard in () if of_symbols is None else of_symbols():
        yield from (str(part).partition("  # ")[0].strip() for part in guard.verbose_code_parts())


def _failed(part: str, scope: Scope) -> Iterator[str]:
    if match := _TENSOR.match(part):
        value = scope.read(match["source"])
        if isinstance(value, torch.Tensor) and value.layout == torch.strided:
            yield from _of_tensor(match, value)
    elif match := _VALUE.match(part):
        if scope.read(part) is False:
            yield part
    # torch writes the class of what it wants behind the call
    elif _OBJECT.match(part) and scope.read(part.partition("), ")[0].rstrip(")") + ")") is False:
        yield part


def _of_tensor(match: re.Match[str], value: torch.Tensor) -> Iterator[str]:
    source = match["source"]
    start = f"tensor '{source}' "
    if match["dtype"] not in ("None", str(value.dtype)):
        wanted_type, own_type = (
            str(name).removeprefix("torch.") for name in (match["dtype"], value.dtype)
        )
        yield f"{start}dtype mismatch. expected {wanted_type}, actual {own_type}"
    if (match["grad"] == "True") is not value.requires_grad:
        yield f"{start}requires_grad mismatch. expected requires_grad={match['grad'] == 'True':d}"
    sizes, strides = _numbers(match["size"]), _numbers(match["stride"])
    if len(sizes) != value.dim():
        yield f"{start}rank mismatch. expected {len(sizes)}, actual {value.dim()}"
        return
    is_sized = False
    for at, (wanted, own) in enumerate(zip(sizes, value.shape, strict=True)):
        if wanted is None and own < 2:
            yield f"2 <= {source}.size()[{at}]"
        elif wanted is not None and wanted != own:
            is_sized = True
            yield f"{start}size mismatch at index {at}. expected {wanted}, actual {own}"
    if is_sized:  # another size has other strides
        return
    for at, (wanted, own) in enumerate(zip(strides, value.stride(), strict=True)):
        if wanted is not None and wanted != own:
            yield f"{start}stride mismatch at index {at}. expected {wanted}, actual {own}"


def _numbers(text: str) -> list[int | None]:
    """`4, None` as numbers; None is a size that may be any."""
    parts = [part.strip() for part in text.split(",") if part.strip()]
    return [int(part) if part.lstrip("-").isdigit() else None for part in parts]
