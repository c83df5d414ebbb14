"""Operators of torch's database save, load in a second process and agree: all that compile."""

from __future__ import annotations

import json
from pathlib import Path

import cloudpickle
import pytest
import torch
from torch.utils._pytree import tree_map

import workbench as wb
from tests.fresh_process import run_fresh

pytest.importorskip("expecttest", reason="torch's operator database needs it")

from tests.operators import cases
from tests.operators.excluding import torch_compiles, why_not
from tests.operators.results import assert_agrees, results

SAMPLE = ("__getitem__", "sort", "std_mean")
LEARNING = ("nn.functional.gelu",)
COMPARED = {"float32": 624, "gradients": 514, "bfloat16": 440}
OF_THE_LIST = torch.__version__.startswith("2.13.")  # other releases have other operators
GROUP = 25


def save(made: cases.Case, folder: Path) -> str | None:
    """Compile and save one operator; what is wrong, or None."""
    call = (made.args, made.kwargs)
    expected = results(made.operator, *call)
    wide = results(made.operator, *tree_map(_wide, call)) if _is_half(made) else expected
    try:
        compiled = wb.aot_compile(made.operator, *call, capture="light")
        folder.mkdir(parents=True)
        compiled.save(folder / "op.aot")
    except wb.WorkbenchError as error:
        words = "" if torch_compiles(made) else ", as torch.compile does: excluded.toml lacks it"
        return f"{type(error).__name__}: {error}{words}"
    # some samples pass the module torch itself, which only cloudpickle can name
    torch.save((*call, expected, wide), folder / "call.pt", pickle_module=cloudpickle)
    return None


def _is_half(made: cases.Case) -> bool:
    return any(isinstance(a, torch.Tensor) and a.dtype is torch.bfloat16 for a in made.args)


def _wide(leaf: object) -> object:
    is_half = isinstance(leaf, torch.Tensor) and leaf.dtype is torch.bfloat16
    return leaf.float() if is_half else torch.float32 if leaf is torch.bfloat16 else leaf


def what_is_wrong(names: tuple[str, ...], variant: str, folder: Path) -> dict[str, str]:
    """Each operator that was not compared or differs, with the reason."""
    saved = folder / "saved"
    saved.mkdir()
    failed: dict[str, str] = {}
    for name in names:
        torch._dynamo.reset()
        made = cases.case(name, variant)
        reason = made if isinstance(made, str) else save(made, saved / name)
        if reason is not None:
            failed[name] = reason
    for half in saved.iterdir():
        if not (half / "call.pt").exists():
            (half / "op.aot").unlink(missing_ok=True)
            half.rmdir()
    lines = run_fresh(folder, "tests.operators.loads", str(saved)).splitlines()
    loaded = dict(json.loads(line) for line in lines)
    assert set(loaded) == set(names) - set(failed)
    failed.update({name: reason for name, reason in loaded.items() if reason})
    return failed


def test_a_sample_of_operators(tmp_path):
    assert what_is_wrong(SAMPLE, "float32", tmp_path) == {}


@pytest.mark.parametrize("variant", ["gradients", pytest.param("bfloat16", marks=pytest.mark.slow)])
def test_a_sample_of_those_that_learn(variant, tmp_path):
    assert what_is_wrong(LEARNING, variant, tmp_path) == {}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("variant", "names"),
    [
        pytest.param(variant, names, id=f"{variant}-{names[0]}")
        for variant in cases.VARIANTS
        for names in cases.groups(variant, GROUP)
    ],
)
def test_every_operator(variant, names, tmp_path):
    assert what_is_wrong(names, variant, tmp_path) == {}


def test_as_many_are_compared_as_is_said():
    found = {variant: len(cases.compared(variant)) for variant in cases.VARIANTS}
    if OF_THE_LIST:
        assert found == COMPARED
    assert all(found[variant] > 0.9 * count for variant, count in COMPARED.items())


@pytest.mark.parametrize("variant", cases.VARIANTS)
def test_only_known_operators_are_excluded(variant):
    if OF_THE_LIST:
        assert cases.excluded(variant).keys() <= cases.entries().keys()
    reasons = {
        cases.NO_DTYPE,
        cases.NO_GRADIENT,
        cases.UNDEFINED,
        cases.GPU_ONLY,
        cases.NOT_DENSE,
        cases.RANDOM,
        cases.REFUSED,
        cases.NO_PHASE,
    }
    assert set(cases.excluded(variant).values()) <= reasons


@pytest.mark.slow
@pytest.mark.parametrize("variant", cases.VARIANTS)
def test_what_is_excluded_cannot_be_compared(variant):
    listed = cases.excluded(variant)
    assert {name: why_not(name, variant) for name in listed} == dict(listed)


WRONG = [
    (torch.tensor([1.0, float("nan")]), torch.ones(2)),
    (torch.ones(1), torch.ones(2)),
    (torch.ones(2, dtype=torch.float64), torch.ones(2)),
    (torch.ones(2) * 1.01, torch.ones(2)),
    (torch.tensor([1]), torch.tensor([2])),
    (torch.ones(2, dtype=torch.bfloat16) * 1.1, torch.ones(2, dtype=torch.bfloat16)),
    (None, torch.ones(2)),
    (1, 1.0),
]


@pytest.mark.parametrize(("found", "expected"), WRONG)
def test_a_difference_is_found(found, expected):
    wide = expected.float() if isinstance(expected, torch.Tensor) else expected
    with pytest.raises((AssertionError, TypeError)):
        assert_agrees(found, expected, wide)
