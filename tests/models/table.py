"""How one of the unseen models goes through each column: `python -m tests.models.table NAME ...`.

A cell is "ok", or "torch cannot: …" where plain torch fails at the same as well, or "ours: …".
"""

from __future__ import annotations

import json
import re
import sys
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import torch

import workbench as wb
from tests.agreement import assert_agrees
from tests.models import unseen

BATCH, BATCHES = 4, (2, 16, 64)
RTOL = ATOL = 2e-4  # as many float32 operations in a row, in another order, differ
Call = Callable[..., Any]


def explain(case: unseen.Case) -> None:
    with torch.no_grad():
        found = wb.explain(case.model, (), case.rows(BATCH))
    assert found.graph_count > 0


def compile_it(case: unseen.Case) -> None:
    assert_same(case, _compiled(case, grad=False))


def save(case: unseen.Case) -> None:
    compiled = _compiled(case, grad=False)
    with tempfile.TemporaryDirectory() as folder:
        compiled.save(Path(folder) / "model.aot")
        torch.compiler.reset()
        assert_same(case, wb.load(Path(folder) / "model.aot", module=case.model, trust=True))


def package(case: unseen.Case) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.pt2"
        with torch.no_grad():
            made = wb.package(case.model, (), case.rows(BATCH), path=path, capture="light")
            assert_same(case, made)
            made.close()


def dynamic_batch(case: unseen.Case) -> None:
    batch = torch.export.Dim("batch", min=min(BATCHES), max=max(BATCHES))
    sizes = {name: {0: batch} for name in case.inputs}
    assert_same(case, _compiled(case, grad=False, dynamic_shapes=sizes), *BATCHES)


def h100(case: unseen.Case) -> None:
    found = _compiled(case, grad=False, target="h100").verify(**case.rows(BATCH))
    assert found.ok, repr(found) + found.frame().query("not ok").to_string()


def gradients(case: unseen.Case) -> None:
    assert_same_gradients(case, _compiled(case, grad=True))


def _compiled(case: unseen.Case, **options: Any) -> Any:
    """Recorded lightly: what is made is the same, and the columns share torch's caches."""
    return wb.aot_compile(case.model, (), case.rows(BATCH), capture="light", **options)


def torch_compile(case: unseen.Case) -> None:
    assert_same(case, torch.compile(case.model, fullgraph=True))


def torch_export(case: unseen.Case) -> None:
    with torch.no_grad(), tempfile.TemporaryDirectory() as folder:
        program = torch.export.export(case.model, (), case.rows(BATCH))
        path = torch._inductor.aoti_compile_and_package(
            program, package_path=str(Path(folder) / "model.pt2")
        )
        assert_same(case, torch._inductor.aoti_load_package(path))


def torch_dynamic(case: unseen.Case) -> None:
    inputs = case.rows(BATCH)
    for value in inputs.values():
        torch._dynamo.mark_dynamic(value, 0, min=min(BATCHES), max=max(BATCHES))
    compiled = torch.compile(case.model, fullgraph=True)
    with torch.no_grad():
        compiled(**inputs)
        with torch.compiler.set_stance("fail_on_recompile"):
            assert_same(case, compiled, *BATCHES)


def torch_gradients(case: unseen.Case) -> None:
    assert_same_gradients(case, torch.compile(case.model, fullgraph=True))


COLUMNS: Mapping[str, tuple[Callable[[unseen.Case], None], Callable[[unseen.Case], None]]] = {
    "explain": (explain, torch_compile),
    "compile": (compile_it, torch_compile),
    "save and load": (save, torch_compile),
    "package": (package, torch_export),
    "dynamic batch": (dynamic_batch, torch_dynamic),
    "h100": (h100, torch_compile),
    "gradients": (gradients, torch_gradients),
}
"""Our way through each column, and torch's own."""


def assert_same(case: unseen.Case, call: Call, *batches: int) -> None:
    for count in batches or (BATCH,):
        with torch.no_grad():
            found, expected = call(**case.rows(count)), case.model(**case.rows(count))
        assert_agrees(found, expected, rtol=RTOL, atol=ATOL)


def assert_same_gradients(case: unseen.Case, call: Call) -> None:
    found, expected = _gradients(case, call), _gradients(case, case.model)
    assert any(gradient is not None for gradient in expected.values())
    assert_agrees(found, expected, rtol=RTOL, atol=ATOL)


def _gradients(case: unseen.Case, call: Call) -> dict[str, torch.Tensor | None]:
    """Those of the parameters, of the mean square of all outputs that have one."""
    case.model.zero_grad()
    leaves = torch.utils._pytree.tree_leaves(call(**case.rows(BATCH)))
    learned = [leaf for leaf in leaves if isinstance(leaf, torch.Tensor) and leaf.requires_grad]
    sum(leaf.square().mean() for leaf in learned).backward()  # type: ignore[union-attr]
    return {name: p.grad for name, p in case.model.named_parameters()}


def cell(name: str, column: str) -> str:
    ours, of_torch = COLUMNS[column]
    error = _failure(ours, name)
    if error is None:
        return "ok"
    of_torch_alone = _failure(of_torch, name)
    return f"ours: {error}" if of_torch_alone is None else f"torch cannot: {of_torch_alone}"


def _failure(way: Callable[[unseen.Case], None], name: str) -> str | None:
    """The first line of what a way raises, without what is another each time."""
    torch.compiler.reset()
    case = unseen.build(name)
    try:
        way(case)
    except Exception as error:
        line = next(iter(str(error).strip().splitlines()), "")
        return re.sub(r"0x[0-9a-f]+", "0x…", f"{type(error).__name__}: {line}")
    return None


if __name__ == "__main__":
    for model in sys.argv[1:]:
        print(json.dumps([model, {column: cell(model, column) for column in COLUMNS}]))
