"""Snapshots of torch's private names, one for each supported release.

`python -m tests.compiler.internals.snapshot` writes that of the installed release and shows what
differs from the release before it: the list of what has to be looked at.
"""

from __future__ import annotations

import enum
import inspect
import json
import sys
import types
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch

from workbench.compiler.internals import torch_private as tp

HERE = Path(__file__).parent
MISSING = "missing"
BUILTIN = "callable without a signature"
BY_BUILD: Mapping[str, tuple[str, str]] = {
    "torch._C._aoti:AOTIModelContainerRunnerCuda": (MISSING, BUILTIN),
    "torch._C:_cuda_cudaCachingAllocator_is_enabled": (MISSING, BUILTIN),
    "torch._C:_cuda_exchangeDevice": (MISSING, BUILTIN),
    "torch._C:_cuda_getCurrentRawStream": (MISSING, BUILTIN),
    "torch._C:_cuda_getDevice": (MISSING, BUILTIN),
    "torch._C:_cuda_maybeExchangeDevice": (MISSING, BUILTIN),
    "torch._C:_cuda_setDevice": (MISSING, BUILTIN),
    "torch.cuda:_exchange_device": ("(device)", BUILTIN),
    "torch.cuda:_maybe_exchange_device": ("(device)", BUILTIN),
}
"""Names that depend on the build and not on the release: without CUDA, with it. In no snapshot."""


class _Default:
    def __repr__(self) -> str:
        return "…"


_DEFAULT = _Default()


def release(version: str = torch.__version__) -> str:
    """The minor release of a version, such as 2.13 of 2.13.0+cpu."""
    return ".".join(version.split(".")[:2])


def path_of(minor: str) -> Path:
    """The snapshot of a minor release."""
    return HERE / f"torch_private_{minor}.json"


def read(minor: str) -> dict[str, str]:
    """The names of a release, each with its shape."""
    found: dict[str, str] = json.loads(path_of(minor).read_text())
    return found


def names() -> dict[str, tp.Name]:
    """Every private name that the workbench touches, by the label it has in our code."""
    found: dict[str, tp.Name] = {}
    for label, value in vars(tp).items():
        rows = value if isinstance(value, tuple) else (value,)
        for i, row in enumerate(rows):
            if isinstance(row, tp.Name):
                found[f"{label}[{i}]" if isinstance(value, tuple) else label] = row
    return found


def shape(name: tp.Name) -> str:
    """What we rely on: the signature of a function, the kind of everything else."""
    value = name.find()
    if value is None:
        return "None" if _is_there(name) else MISSING
    if isinstance(value, types.ModuleType):
        return "module"
    if isinstance(value, enum.Enum | tuple | frozenset | list | dict):
        return type(value).__name__
    if isinstance(value, enum.EnumType):
        return "enum"  # the parameters of its class are Python's, not torch's
    return _signature(value) if callable(value) else type(value).__name__


def _is_there(name: tp.Name) -> bool:
    """Whether the release has the name, with None as its value."""
    owner, _, last = name.attribute.rpartition(".")
    found = tp.Name(f"{name.module}:{owner}", name.used_for).find()
    return found is not None and hasattr(found, last)


def _signature(value: Any) -> str:
    """The parameters with their kinds, `…` for a default."""
    if inspect.isbuiltin(value):  # Python 3.13 guesses those of some
        return BUILTIN
    try:
        parameters = inspect.signature(value).parameters.values()
    except (TypeError, ValueError):
        return BUILTIN
    empty = inspect.Parameter.empty
    bare = [
        p.replace(annotation=empty, default=empty if p.default is empty else _DEFAULT)
        for p in parameters
    ]
    return str(inspect.Signature(bare))


def snapshot() -> dict[str, str]:
    """The shapes in the installed release; for a fresh process, where nothing is patched or set."""
    return {row.target: shape(row) for row in names().values()}


def without_builds(shapes: Mapping[str, str]) -> dict[str, str]:
    """What a snapshot holds: the names that do not depend on the build."""
    return {target: shapes[target] for target in sorted(shapes.keys() - BY_BUILD)}


def differences(expected: Mapping[str, str], found: Mapping[str, str]) -> list[str]:
    """A line for each name that is missing, new or changed."""
    lines = []
    for target in sorted(expected.keys() | found.keys()):
        was, now = (shapes.get(target, "not listed") for shapes in (expected, found))
        if was != now:
            lines.append(f"{target}: {was} -> {now}")
    return lines


def main(arguments: list[str]) -> int:
    """Write the snapshot of the installed release; with `--print` only print what is found."""
    found = snapshot()
    if arguments == ["--print"]:  # what the test asks a fresh process for
        print(json.dumps(found))
        return 0
    here = release()
    earlier = [p for p in sorted(HERE.glob("torch_private_*.json")) if p < path_of(here)]
    kept = without_builds(found)
    path_of(here).write_text(json.dumps(kept, indent=1, ensure_ascii=False) + "\n")
    print(f"wrote {path_of(here).name}: {len(kept)} names of torch {torch.__version__}")
    for path in earlier[-1:]:
        print(f"against {path.name}:")
        print("\n".join(differences(json.loads(path.read_text()), kept)) or "no difference")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
