"""Every private name of torch exists, and its signature is the one that was checked.

`python -m tests.compiler.test_torch_private` writes the snapshot anew for the installed release.
"""

from __future__ import annotations

import enum
import inspect
import json
import types
from pathlib import Path
from typing import Any

import pytest
import torch

from workbench.compiler.internals import torch_private as tp
from workbench.errors import TorchNameMissing

SNAPSHOT = Path(__file__).with_name("torch_private_2.13.json")


def names() -> dict[str, tp.Name]:
    found: dict[str, tp.Name] = {}
    for label, value in vars(tp).items():
        rows = value if isinstance(value, tuple) else (value,)
        for i, row in enumerate(rows):
            if isinstance(row, tp.Name):
                found[f"{label}[{i}]" if isinstance(value, tuple) else label] = row
    return found


def describe(value: Any) -> str:
    """What we rely on: the signature of a function, the kind of everything else."""
    if value is None:
        return "missing"
    if isinstance(value, types.ModuleType):
        return "module"
    if isinstance(value, enum.Enum | tuple | frozenset | list | dict):
        return type(value).__name__
    if callable(value):
        try:
            parameters = inspect.signature(value).parameters.values()
        except (TypeError, ValueError):
            return "callable without a signature"
        shown = ", ".join(
            {p.VAR_POSITIONAL: "*", p.VAR_KEYWORD: "**"}.get(p.kind, "") + p.name
            for p in parameters
        )
        return f"({shown})"
    return type(value).__name__


def snapshot() -> dict[str, str]:
    return {row.target: describe(row.find()) for row in names().values()}


@pytest.mark.parametrize("label", sorted(names()))
def test_every_name_says_what_it_is_for(label: str) -> None:
    row = names()[label]
    assert row.used_for
    assert ":" in row.target


def test_no_name_is_missing_and_no_signature_has_changed() -> None:
    """On another release the difference is the list of what has to be looked at."""
    expected = json.loads(SNAPSHOT.read_text())
    current = snapshot()
    assert current.keys() == expected.keys(), "run python -m tests.compiler.test_torch_private"
    missing = [target for target, shape in current.items() if shape == "missing"]
    absent = {t for t, s in expected.items() if s == "missing"}  # builds with CUDA have some
    changed = {t: (expected[t], s) for t, s in current.items() if s != expected[t]}
    if torch.__version__.startswith("2.13"):
        assert absent.issuperset(missing)
        assert changed.keys() <= absent
    else:
        print(f"torch {torch.__version__}: missing {missing}")
        print(f"changed {json.dumps(changed, indent=1)}")


def test_a_missing_name_is_a_sentence() -> None:
    row = tp.Name("torch._dynamo:no_such_thing", "showing an error")
    assert row.find() is None
    with pytest.raises(TorchNameMissing, match=r"has no torch\._dynamo\.no_such_thing, which the"):
        row.get()


if __name__ == "__main__":
    SNAPSHOT.write_text(json.dumps(snapshot(), indent=1, sort_keys=True) + "\n")
