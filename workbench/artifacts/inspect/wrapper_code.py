"""What AOTInductor writes into the C++ of a model: inputs with their ranges, constants."""

from __future__ import annotations

import re
from collections.abc import Iterator

from workbench.artifacts.inspect.artifact_rows import ConstantFacts, ValueFacts

_FIELD = re.compile(r"^ {4}(constants|inputs|outputs)_info_\[(\d+)\]\.(\w+) = (.*);$", re.MULTILINE)
_CHECK = re.compile(r"static void check_input_(\d+)\((.*?)^\}", re.MULTILINE | re.DOTALL)
_DTYPE = re.compile(r"expected_dtype = aoti_torch_dtype_(\w+)\(\)")
_DEVICE = re.compile(r"expected: \" << \w+ << \"\d+\((\w+)\)")
_STATIC = re.compile(r"if \((\d+) != \w+_(size|stride)\[(\d+)\]\)")
_BOUND = re.compile(r"if \(\w+_size\[(\d+)\] ([<>]) (\d+)\)")
_KIND = re.compile(r"ConstantType::(\w+)")


def constants(model: str, source: str) -> Iterator[ConstantFacts]:
    """The constants of a model from the constructor that torch writes."""
    for row in _fields(source, "constants").values():
        kind = _KIND.search(row.get("type", ""))
        size = row.get("data_size", "")
        yield ConstantFacts(
            model=model,
            name=_text(row.get("original_fqn") or row.get("name", "")),
            kind=kind[1].lower() if kind else "constant",
            dtype=row.get("dtype", "").removeprefix("cached_torch_dtype_"),
            shape=f"[{row.get('shape', '').strip('{}')}]",
            size=int(size) if size.isdigit() else None,
            place="",
        )


def values(model: str, source: str) -> Iterator[ValueFacts]:
    """Inputs with what torch could check of them (it does not unless told to), and outputs."""
    checks = {int(match[1]): match[2] for match in _CHECK.finditer(source)}
    for index, row in _fields(source, "inputs").items():
        body = checks.get(index, "")
        dtype, device = _DTYPE.search(body), _DEVICE.search(body)
        yield ValueFacts(
            model=model,
            direction="input",
            name=_text(row.get("name", "")),
            kind="Tensor",
            dtype=dtype[1] if dtype else "",
            shape=_shape(body),
            device=device[1] if device else "",
            stride=_sizes({int(i): n for n, what, i in _STATIC.findall(body) if what == "stride"}),
        )
    for row in _fields(source, "outputs").values():
        yield ValueFacts(model, "output", _text(row.get("name", "")), "Tensor", "", "", "")


def _shape(body: str) -> str:
    sizes = {int(i): n for n, what, i in _STATIC.findall(body) if what == "size"}
    bounds: dict[int, dict[str, str]] = {}
    for index, sign, value in _BOUND.findall(body):
        bounds.setdefault(int(index), {})[sign] = value
    for index, ends in bounds.items():
        sizes.setdefault(index, f"{ends.get('<', '')}..{ends.get('>', '')}")
    return _sizes(sizes)


def _sizes(sizes: dict[int, str]) -> str:
    if not sizes or max(sizes) > 64:
        return ""
    return f"[{', '.join(sizes.get(index, 'any') for index in range(max(sizes) + 1))}]"


def _fields(source: str, what: str) -> dict[int, dict[str, str]]:
    by_index: dict[int, dict[str, str]] = {}
    for kind, index, name, value in _FIELD.findall(source):
        if kind == what:
            by_index.setdefault(int(index), {})[name] = value
    return by_index


def _text(value: str) -> str:
    return value.strip('"')
