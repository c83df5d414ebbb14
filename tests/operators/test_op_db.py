"""What torch.compile(fullgraph=True) compiles saves, loads in a second process and agrees."""

from __future__ import annotations

import json
from pathlib import Path

import cloudpickle
import pytest
import torch
from torch.utils._pytree import tree_leaves

import workbench as wb
from tests.fresh_process import run_fresh

pytest.importorskip("expecttest", reason="torch's operator database needs it")

from tests.operators import cases

SAMPLE = (
    "__getitem__",
    "__radd__",
    "cat",
    "einsum",
    "masked_fill",
    "nn.functional.gelu",
    "nn.functional.layer_norm",
    "softmax",
    "sort",
    "std_mean",
)
GROUP = 25


def save(made: cases.Case, folder: Path) -> str | None:
    """Compile and save one operator; what is wrong, or None."""
    outputs = tree_leaves(made.operator(*made.args, **made.kwargs))
    # a view of an input in another dtype cannot be saved beside it
    expected = [o.detach().clone() if isinstance(o, torch.Tensor) else o for o in outputs]
    try:
        compiled = wb.aot_compile(made.operator, made.args, made.kwargs, capture="light")
        folder.mkdir(parents=True)
        compiled.save(folder / "op.aot")
    except wb.WorkbenchError as error:
        return f"{type(error).__name__}: {error}" if torch_compiles(made) else None
    # some samples pass the module torch itself, which only cloudpickle can name
    call = (made.args, made.kwargs, expected)
    torch.save(call, folder / "call.pt", pickle_module=cloudpickle)
    return None


def torch_compiles(made: cases.Case) -> bool:
    try:
        torch.compile(made.operator, fullgraph=True)(*made.args, **made.kwargs)
    except Exception:
        return False
    return True


def what_is_wrong(names: tuple[str, ...], folder: Path) -> tuple[dict[str, str], int]:
    """Each operator that fails with the reason, and how many were loaded and compared."""
    saved = folder / "saved"
    saved.mkdir()
    failed: dict[str, str] = {}
    for name in names:
        torch._dynamo.reset()
        if (made := cases.case(name)) is None:
            continue
        if reason := save(made, saved / name):
            failed[name] = reason
    for half in saved.iterdir():
        if not (half / "call.pt").exists():
            (half / "op.aot").unlink(missing_ok=True)
            half.rmdir()
    lines = run_fresh(folder, "tests.operators.loads", str(saved)).splitlines()
    loaded = dict(json.loads(line) for line in lines)
    failed.update({name: reason for name, reason in loaded.items() if reason})
    return failed, len(loaded)


def test_a_sample_of_operators(tmp_path):
    failed, compared = what_is_wrong(SAMPLE, tmp_path)
    assert failed == {}
    assert compared == len(SAMPLE)


@pytest.mark.slow
@pytest.mark.parametrize("names", list(cases.groups(GROUP)), ids=lambda names: names[0])
def test_every_operator(names, tmp_path):
    failed, compared = what_is_wrong(names, tmp_path)
    assert failed == {}
    assert compared > len(names) // 2


def test_there_are_enough_operators():
    assert len(cases.entries()) >= 200
