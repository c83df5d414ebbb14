"""Runs a program eagerly and in each of our ways: right, or refused by one of our errors."""

from __future__ import annotations

import contextlib
import importlib.util
import sys
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import torch

import workbench as wb
from tests.agreement import tensor_pairs
from tests.constructs.programs import Program

CALLS = 2  # the second sees what the first left behind
ROUNDING = 4.0  # so much further from double precision than eager may a right result be
NEAR = 1e-3  # so far from it may eager be for that


@dataclass(frozen=True)
class Result:
    """What became of one way: "right", "refused" with the error's words, or "wrong"."""

    way: str
    verdict: str
    words: str = ""


@dataclass(frozen=True)
class Runs:
    """The results of calls in a row and the inputs after each."""

    outputs: tuple[Any, ...]
    inputs: tuple[Any, ...]


def results(program: Program, folder: Path, *, backend: str, package: bool) -> list[Result]:
    """What each way makes of a program; none where eager itself cannot run it."""
    with _module(program, folder) as module, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            expected = _run(module.make(), module)
        except Exception:  # no program: nothing to compare with
            return []
        ways = {
            "live": lambda: _live(module, backend),
            "loaded": lambda: _loaded(module, backend, folder / "program.aot"),
        }
        if package:
            ways["packaged"] = lambda: _packaged(module, folder / "program.pt2")
        return [_judged(name, way, module, expected) for name, way in ways.items()]


def _judged(
    name: str, way: Callable[[], Callable[..., Any]], module: ModuleType, expected: Runs
) -> Result:
    torch.compiler.reset()
    try:
        found = _run(way(), module, without_grad=name == "packaged")
    except wb.WorkbenchError as error:
        return Result(name, "refused", str(error))
    except Exception as error:
        return Result(name, "wrong", f"raised {type(error).__name__}: {error}")
    try:
        _compare(found, expected)
    except AssertionError as error:
        if not is_rounding(found, expected, module):
            return Result(name, "wrong", str(error))
    return Result(name, "right")


def is_rounding(found: Runs, expected: Runs, module: ModuleType) -> bool:
    """Whether what was found is about as far from the same in double precision as eager is.

    A difference of large numbers has as many wrong digits in any order of its sums. Where eager
    itself is far from double precision (it draws random numbers, say), that tells nothing.
    """
    torch.manual_seed(0)
    function = module.make()
    if isinstance(function, torch.nn.Module):
        function = function.double()
    try:
        exact = _run(function, module, in_double=True)
    except Exception:  # it asks for a dtype: there is no second opinion
        return False
    return all(
        _is_as_near(getattr(found, what), getattr(expected, what), getattr(exact, what))
        for what in ("outputs", "inputs")
    )


def _is_as_near(found: Any, expected: Any, exact: Any) -> bool:
    try:
        pairs = [*zip(tensor_pairs(found, exact), tensor_pairs(expected, exact), strict=True)]
    except AssertionError:  # another structure
        return False
    for (_, a, exactly), (_, b, _) in pairs:
        eager = _distance(b, exactly)
        if (a.shape, a.dtype) != (b.shape, b.dtype) or eager > NEAR:
            return False
        if _distance(a, exactly) > ROUNDING * eager:
            return False
    return True


def _distance(a: torch.Tensor, b: torch.Tensor) -> float:
    """The largest difference; one that is no number is infinite."""
    if a.shape != b.shape:
        return torch.inf
    difference = (a.double() - b.double()).abs().nan_to_num(torch.inf)
    return float(difference.max()) if a.numel() else 0.0


def _compare(found: Runs, expected: Runs) -> None:
    for what in ("outputs", "inputs"):
        for where, a, b in tensor_pairs(getattr(found, what), getattr(expected, what), what):
            width = 2e-2 if b.dtype == torch.bfloat16 else 1e-4
            torch.testing.assert_close(
                a, b, rtol=width, atol=width, equal_nan=True, msg=lambda w, at=where: f"{at}: {w}"
            )


def _run(
    function: Callable[..., Any],
    module: ModuleType,
    *,
    without_grad: bool = False,
    in_double: bool = False,
) -> Runs:
    outputs, inputs = [], []
    for _ in range(CALLS):
        given = module.inputs()
        if in_double:
            given = torch.utils._pytree.tree_map_only(torch.Tensor, _doubled, given)
        with torch.no_grad() if without_grad else contextlib.nullcontext():
            outputs.append(_plain(function(*given)))
        inputs.append(_plain(tuple(v for v in given if isinstance(v, torch.Tensor))))
    return Runs(tuple(outputs), tuple(inputs))


def _doubled(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.double() if tensor.dtype == torch.float32 else tensor


def _plain(value: Any) -> Any:
    """Tensors without what a later call may change in them."""
    return torch.utils._pytree.tree_map_only(torch.Tensor, lambda t: t.detach().clone(), value)


def _live(module: ModuleType, backend: str) -> Callable[..., Any]:
    return wb.aot_compile(module.make(), module.inputs(), backend=backend, capture="light")


def _loaded(module: ModuleType, backend: str, path: Path) -> Callable[..., Any]:
    target = module.make()
    wb.aot_compile(target, module.inputs(), backend=backend, capture="light").save(path)
    again = module.make()
    owner = again if isinstance(again, torch.nn.Module) else None
    return wb.load(path, trust=True, **({} if owner is None else {"module": owner}))


def _packaged(module: ModuleType, path: Path) -> Callable[..., Any]:
    wb.package(module.make(), module.inputs(), path=path, capture="light").close()
    return wb.load(path, trust=True)


@contextlib.contextmanager
def _module(program: Program, folder: Path) -> Iterator[ModuleType]:
    """The program as an imported module, whose source can be read."""
    name = f"construct_{program.seed}"
    file = folder / f"{name}.py"
    file.write_text(program.source)
    spec = importlib.util.spec_from_file_location(name, file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
        yield module
    finally:
        del sys.modules[name]
