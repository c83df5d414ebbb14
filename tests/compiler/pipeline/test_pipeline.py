"""One call compiles anything that can be called; the result is called like the original."""

from __future__ import annotations

import collections
import dataclasses
import functools
import logging
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any, ClassVar

import pytest
import torch
import torch.nn.functional as F

import workbench as wb
from tests.lazy_annotations import lazily_annotated
from workbench.compiler.internals import torch_private as tp

compile_eager = functools.partial(wb.aot_compile, backend="eager")
Pair = collections.namedtuple("Pair", "first second")


@dataclasses.dataclass
class Batch:
    values: torch.Tensor
    scale: float = 2.0


class Scaler:
    factor: ClassVar[int] = 3

    def __call__(self, x: torch.Tensor) -> torch.Tensor:
        return x * self.factor

    def shifted(self, x: torch.Tensor) -> torch.Tensor:
        return x + self.factor


def add(a: torch.Tensor, b: torch.Tensor, *, flag: bool = True) -> torch.Tensor:
    return a + b if flag else a - b


def closure(factor: float) -> Any:
    def scaled(x: torch.Tensor) -> torch.Tensor:
        return x * factor

    return scaled


X, Y = torch.randn(4, 8), torch.randn(4, 8)


@pytest.mark.parametrize(
    ("fn", "args"),
    [
        (add, (X, Y)),
        (lambda x: x + 1, (X,)),
        (closure(2.5), (X,)),
        (functools.partial(add, b=Y), (X,)),
        (functools.partial(torch.nn.Linear(8, 2), X), ()),
        (Scaler(), (X,)),
        (Scaler().shifted, (X,)),
        (torch.sin, (X,)),
        (torch.ops.aten.sin.default, (X,)),
        (F.relu, (X,)),
        (torch.atleast_3d, (X,)),
        (torch.compile(add), (X, Y)),
        (torch.nn.Linear(8, 2), (X,)),
        (torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.ReLU()), (X,)),
        (torch.nn.TransformerEncoderLayer(8, 2, batch_first=True).eval(), (X[None],)),
        (torch.compile(torch.nn.Linear(8, 2)), (X,)),
    ],
    ids=lambda value: getattr(value, "__name__", type(value).__name__),
)
def test_anything_that_can_be_called(fn: Any, args: Any) -> None:
    torch.testing.assert_close(compile_eager(fn, args)(*args), fn(*args))


def test_hooks_and_tied_weights_are_part_of_the_module() -> None:
    linear = torch.nn.Linear(8, 8)
    linear.register_forward_hook(lambda module, args, output: output * 2)
    torch.testing.assert_close(compile_eager(linear, (X,))(X), linear(X))

    tied = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.Linear(8, 8))
    tied[1].weight = tied[0].weight
    torch.testing.assert_close(compile_eager(tied, (X,))(X), tied(X))


def test_what_torch_compile_returned_is_unwrapped_and_said_so() -> None:
    compiled = compile_eager(torch.compile(add), (X, Y))
    assert "unwrapped" in compiled.report.request.notes[0]
    module = torch.nn.Linear(8, 2)
    module.compile()
    assert "module.compile()" in compile_eager(module, (X,)).report.request.notes[0]


def test_structured_inputs_and_outputs() -> None:
    def fn(batch: dict[str, Any], *, k: float) -> dict[str, Any]:
        x = batch["x"] * batch["data"].values
        return {"pair": Pair(x * k, 3), "none": None, "data": Batch(x - 1), "list": [x]}

    inputs = {"x": X, "data": Batch(Y)}
    got = compile_eager(fn, (inputs,), {"k": 2.0})(inputs, k=2.0)
    assert type(got["pair"]) is Pair
    assert got["pair"].second == 3
    assert got["none"] is None
    torch.testing.assert_close(got["data"].values, X * Y - 1)


def test_inputs_and_buffers_that_are_written_to() -> None:
    def double_in_place(x: torch.Tensor) -> torch.Tensor:
        x.mul_(2)
        return x + 1

    compiled, x = compile_eager(double_in_place, (X.clone(),)), X.clone()
    torch.testing.assert_close(compiled(x), X * 2 + 1)
    torch.testing.assert_close(x, X * 2)

    norm = torch.nn.BatchNorm1d(8)
    compile_eager(norm, (X,))(X)
    assert norm.running_mean is not None
    assert norm.running_mean.abs().max() > 0


def test_backward_runs_through_the_compiled_code() -> None:
    module = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.GELU(), torch.nn.Linear(16, 2))
    compiled = wb.aot_compile(module, (X,))
    compiled(X).sum().backward()
    got = [p.grad.clone() for p in module.parameters() if p.grad is not None]
    module.zero_grad()
    module(X).sum().backward()
    for grad, parameter in zip(got, module.parameters(), strict=True):
        torch.testing.assert_close(grad, parameter.grad)


def test_inductor_and_its_modes() -> None:
    compiled = wb.aot_compile(add, (X, Y), mode="max-autotune", options={"max_autotune": False})
    torch.testing.assert_close(compiled(X, Y), X + Y)
    assert "replaces True, which mode 'max-autotune' sets" in compiled.report.request.notes[0]


def test_a_float_argument_whose_capture_restarts() -> None:
    def scaled(x: torch.Tensor, s: float) -> torch.Tensor:
        return x * s + s

    for s in (1.5, 2.5):
        torch.testing.assert_close(compile_eager(scaled, (X, s))(X, s), X * s + s)


def test_a_backend_that_is_a_function() -> None:
    from torch._dynamo.aot_compile_types import GraphModuleSerializableCallable

    def backend(graph: torch.fx.GraphModule, inputs: list[torch.Tensor]) -> Any:
        return GraphModuleSerializableCallable(graph)

    compiled = wb.aot_compile(add, (X, Y), backend=backend)
    assert compiled.report.request.backend == "backend"
    torch.testing.assert_close(compiled(X, Y), X + Y)


def test_a_backend_that_cannot_be_saved_is_refused_with_the_reason() -> None:
    def backend(graph: torch.fx.GraphModule, inputs: list[torch.Tensor]) -> Any:
        return graph.forward

    with pytest.raises(wb.CaptureError, match="result for add, a method, cannot be saved: it does"):
        wb.aot_compile(add, (X, Y), backend=backend)


def test_a_graph_break_names_line_reason_hint_and_where_to_look() -> None:
    def branching(x: torch.Tensor) -> torch.Tensor:
        if x.sum() > 0:
            return x + 1
        return x - 1

    with pytest.raises(wb.CaptureError) as caught:
        compile_eager(branching, (X,))
    words = str(caught.value)
    assert "Data-dependent branching" in words
    assert "if x.sum() > 0:" in words
    assert "torch.cond" in words
    assert "%aot_explain" in words
    assert caught.value.report is not None
    assert caught.value.report.outcome.step == "compile"


def test_the_report_says_what_was_asked() -> None:
    request = compile_eager(add, (X, Y), {"flag": False}, grad=False).report.request
    assert request.name == "add"
    assert request.kind == "function"
    assert request.grad is False
    assert request.inputs == ("a: float32 [4, 8] on cpu", "b: float32 [4, 8] on cpu")


def test_a_summary_without_times_and_addresses() -> None:
    assert repr(compile_eager(add, (X, Y))) == (
        "Compiled(add(a: float32 [4, 8] on cpu, b: float32 [4, 8] on cpu), host, 0 kernels)"
    )


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"mode": "fast"}, "mode is 'fast'"),
        ({"backend": "inductr"}, "backend is 'inductr'"),
        ({"backend": "inductor", "options": {"max_autotun": True}}, "Did you mean 'max_autotune'"),
        ({"backend": "inductor", "options": {"max_autotune": 3}}, "expected bool"),
        ({"backend": "inductor", "options": {"freezing": True}, "grad": False}, "use wb.package"),
        ({"backend": "eager", "mode": "max-autotune"}, "takes neither mode"),
        ({"target": "cuda"}, "a is on cpu"),
        ({"target": "h100x"}, "target is 'h100x'"),
        ({"grad": "yes"}, "grad is 'yes'"),
        ({"guards": "loose"}, "guards is 'loose'"),
        ({"capture": "half"}, "capture is 'half'"),
    ],
)
def test_a_request_that_cannot_be(options: dict[str, Any], words: str) -> None:
    with pytest.raises(wb.UsageError, match=words):
        wb.aot_compile(add, (X, Y), **{"backend": "eager", **options})


def test_example_inputs_that_do_not_fit_the_signature() -> None:
    with pytest.raises(wb.UsageError, match="args is a Tensor: expected a tuple"):
        wb.aot_compile(add, X)  # type: ignore[arg-type]
    with pytest.raises(wb.UsageError, match=r"add\(\) missing 1 required positional argument: 'b'"):
        wb.aot_compile(add, (X,))
    with pytest.raises(wb.UsageError, match="expected a function"):
        wb.aot_compile(3, (X,))  # type: ignore[arg-type]


def test_two_compilations_at_once() -> None:
    results: dict[int, torch.Tensor] = {}

    def work(n: int) -> None:
        results[n] = compile_eager(lambda x: torch.sin(x) + n, (X,))(X)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for n in range(3):
        torch.testing.assert_close(results[n], torch.sin(X) + n)


def test_an_interrupt_leaves_torch_usable(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(graph: Any, inputs: Any) -> Any:
        raise KeyboardInterrupt

    before = tp.SERIALIZE_GUARDS.get()
    with pytest.raises(KeyboardInterrupt):
        wb.aot_compile(add, (X, Y), backend=interrupted, grad=False)
    assert tp.SERIALIZE_GUARDS.get() is before
    assert torch.is_grad_enabled()
    torch.testing.assert_close(compile_eager(add, (X, Y))(X, Y), X + Y)


def test_code_typed_at_a_prompt_has_no_source(tmp_path: Path) -> None:
    script = (
        "import torch, workbench as wb\n"
        "f = wb.aot_compile(lambda x: x + 1, (torch.ones(3),), backend='eager')\n"
        f"f.save({str(tmp_path / 'a.aot')!r})\n"
        f"print(wb.load({str(tmp_path / 'a.aot')!r})(torch.ones(3)).sum().item())\n"
    )
    done = subprocess.run([sys.executable, "-"], input=script, capture_output=True, text=True)
    assert done.stdout.strip() == "6.0", done.stderr


def test_annotations_need_not_name_what_is_there(tmp_path: Path) -> None:
    f, path = compile_eager(lazily_annotated(), (X,)), tmp_path / "f.aot"
    f.save(path)
    torch.testing.assert_close(wb.load(path)(X), X + 2)


def test_a_size_that_cannot_be_dynamic_is_told_by_the_error_alone(caplog: Any) -> None:
    logging.getLogger("torch._guards").addHandler(caplog.handler)
    layer, rows = torch.nn.Linear(8, 4), torch.export.Dim("features", min=2)
    with pytest.raises(wb.CaptureError, match="the code or a weight fixes it to 8"):
        compile_eager(layer, (torch.ones(3, 8),), dynamic_shapes={"input": {1: rows}})
    logging.getLogger("torch._guards").removeHandler(caplog.handler)
    assert not [record for record in caplog.records if record.name == "torch._guards"]
