"""The documented examples of torch.compile and aot_compile, through the workbench."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.nn as nn
from torch._dynamo.utils import counters

import workbench as wb
from tests.older_releases import since


def fn(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return x + y


AOT_EAGER = pytest.param("aot_eager", marks=since("2.12", "what aot_eager makes cannot be kept"))


class MyModel(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(4, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.linear(x)


class SimpleModel(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(10, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.linear(x)


X, Y = torch.randn(3, 4), torch.randn(3, 4)


class TestAheadOfTime:
    """Compile, run, save, load: functions, modules, closures, backends."""

    def test_a_free_function(self, tmp_path: Path) -> None:
        compiled = wb.aot_compile(fn, (X, Y))
        torch.testing.assert_close(compiled(X, Y), X + Y)
        compiled.save(tmp_path / "compiled_add.aot")
        loaded = wb.load(tmp_path / "compiled_add.aot")
        torch.testing.assert_close(loaded(Y, X), X + Y)

    @pytest.mark.slow
    def test_in_another_process(self, tmp_path: Path) -> None:
        path = tmp_path / "compiled_add.aot"
        wb.aot_compile(fn, (X, Y)).save(path)
        script = (
            f"import torch, workbench as wb; f = wb.load({str(path)!r}); "
            "x, y = torch.ones(3, 4), torch.ones(3, 4); print(f(x, y).sum().item())"
        )
        done = subprocess.run(
            [sys.executable, "-c", script], capture_output=True, text=True, check=True
        )
        assert done.stdout.strip() == "24.0"

    def test_the_file_that_torch_itself_writes(self, tmp_path: Path) -> None:
        path = tmp_path / "compiled_add.pt"
        torch.compile(fn, fullgraph=True).aot_compile(((X, Y), {})).save_compiled_function(
            str(path)
        )
        with pytest.raises(wb.TrustError):
            wb.load(path)
        digest = wb.inspect(path).digest
        torch.testing.assert_close(wb.load(path, trust=digest)(X, Y), X + Y)

    def test_a_module_with_backward_before_and_after_loading(self, tmp_path: Path) -> None:
        model = MyModel()
        inputs = torch.randn(3, 4, requires_grad=True)
        compiled = wb.aot_compile(model, (inputs,))
        compiled.save(tmp_path / "compiled_model.aot")
        loaded = wb.load(tmp_path / "compiled_model.aot", module=model)
        expected = model.linear.weight.sum(0).expand(3, 4)
        for call in (compiled, loaded):
            x = torch.randn(3, 4, requires_grad=True)
            call(x).sum().backward()
            torch.testing.assert_close(x.grad, expected)

    def test_disabling_the_guard_check(self) -> None:
        compiled = wb.aot_compile(fn, (X, Y), backend="eager")
        with pytest.raises(wb.ContractError, match="expected size 3 at dimension 0, got 2"):
            compiled(X[:2], Y[:2])
        compiled.disable_guard_check()
        torch.testing.assert_close(compiled(X[:2], Y[:2]), X[:2] + Y[:2])

    @pytest.mark.parametrize(
        "backend",
        [
            "inductor",
            "eager",
            AOT_EAGER,
        ],
    )
    def test_choosing_a_backend(self, backend: str, tmp_path: Path) -> None:
        compiled = wb.aot_compile(fn, (X, Y), backend=backend)
        compiled.save(tmp_path / "a.aot")
        torch.testing.assert_close(wb.load(tmp_path / "a.aot")(X, Y), X + Y)

    def test_a_closure(self, tmp_path: Path) -> None:
        scale = 2

        def scaled(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
            return (x + y) * scale

        wb.aot_compile(scaled, (X, Y)).save(tmp_path / "scaled_add.aot")
        torch.testing.assert_close(wb.load(tmp_path / "scaled_add.aot")(X, Y), (X + Y) * 2)

    def test_a_captured_module_is_external_data(self, tmp_path: Path) -> None:
        model = MyModel()

        def through(x: torch.Tensor) -> torch.Tensor:
            return model(x) + 1

        path = tmp_path / "fn_with_model.aot"
        wb.aot_compile(through, (X,)).save(path, external_data={"model": model})
        with pytest.raises(wb.ArtifactError, match="model"):
            wb.load(path)
        loaded = wb.load(path, external_data={"model": model})
        torch.testing.assert_close(loaded(X), model(X) + 1)

    def test_globals_are_passed_at_load(self, tmp_path: Path) -> None:
        compiled = wb.aot_compile(uses_scale, (X,))
        compiled.save(tmp_path / "my_fn.aot")
        loaded = wb.load(tmp_path / "my_fn.aot", f_globals={"SCALE": 3.0, "torch": torch})
        torch.testing.assert_close(loaded(X), X * 3)
        with pytest.raises(wb.ArtifactError, match=r"SCALE .*compiled with 3\.0, now 4\.0"):
            wb.load(tmp_path / "my_fn.aot", f_globals={"SCALE": 4.0})

    def test_a_graph_break_is_an_error(self) -> None:
        def branch(x: torch.Tensor) -> torch.Tensor:
            return x + 1 if x.sum() > 0 else x - 1

        with pytest.raises(wb.CaptureError, match="%aot_explain"):
            wb.aot_compile(branch, (X,))


SCALE = 3.0


def uses_scale(x: torch.Tensor) -> torch.Tensor:
    return x * SCALE


class TestTorchCompile:
    """What the introductions to torch.compile show."""

    def test_basic_usage(self) -> None:
        model, data = SimpleModel(), torch.randn(32, 10)
        torch.testing.assert_close(torch.compile(model)(data), model(data))
        torch.testing.assert_close(wb.aot_compile(torch.compile(model), (data,))(data), model(data))

    def test_specific_options(self) -> None:
        model, data = SimpleModel().eval(), torch.randn(32, 10)
        compiled = torch.compile(
            model, mode="reduce-overhead", fullgraph=True, dynamic=False, backend="inductor"
        )
        torch.testing.assert_close(compiled(data), model(data))
        ours = wb.aot_compile(model, (data,), mode="reduce-overhead", backend="inductor")
        torch.testing.assert_close(ours(data), model(data))

    @pytest.mark.slow
    def test_decorator_wrapper_and_module_compile(self) -> None:
        @torch.compile
        def inference_fn(x: torch.Tensor) -> torch.Tensor:
            return torch.nn.functional.relu(x + 1) * 2

        model = SimpleModel()
        model.compile()
        data = torch.randn(4, 10)
        cases: list[tuple[Any, str]] = [
            (inference_fn, "unwrapped"),
            (torch.compile(SimpleModel()), "unwrapped"),
            (model, "module.compile()"),
        ]
        for target, note in cases:
            ours = wb.aot_compile(target, (data,))
            assert note in ours.report.request.notes[0]
            torch.testing.assert_close(ours(data), target(data))

    @pytest.mark.parametrize(
        "mode", ["default", "reduce-overhead", "max-autotune", "max-autotune-no-cudagraphs"]
    )
    def test_every_mode(self, mode: str) -> None:
        model, data = SimpleModel().eval(), torch.randn(8, 10)
        ours = wb.aot_compile(model, (data,), mode=mode, grad=False)
        assert ours.report.request.mode == mode
        torch.testing.assert_close(ours(data), model(data).detach())

    def test_the_first_call_of_ahead_of_time_code_compiles_nothing(self) -> None:
        ours = wb.aot_compile(SimpleModel(), (torch.randn(2, 10),))
        phases = {phase.name for phase in ours.report.phases}
        assert any("backend" in name or "compile" in name for name in phases)
        counters.clear()
        ours(torch.randn(2, 10))
        assert not counters
        torch.compile(lambda x: x + 1)(torch.randn(2, 10))  # what compiles is counted
        assert counters


def simple_model(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    a = torch.sin(x)
    b = torch.cos(y)
    return a + b


def model_with_graph_break(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    a = torch.sin(x)
    if y.sum() < 0:
        y = y * -1
    return a + y


def model_fixed(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    a = x + 1

    def true_fn(y: torch.Tensor) -> torch.Tensor:
        return y * 2

    def false_fn(y: torch.Tensor) -> torch.Tensor:
        return y * -1

    result: torch.Tensor = torch.cond(a.sum() > 0, true_fn, false_fn, (y,))
    return a + result


class TestGraphBreaks:
    """Where capture stops, and the two cures."""

    def test_a_function_without_breaks(self) -> None:
        found = wb.explain(simple_model, (X, Y))
        assert list(found.breaks) == []
        assert found.graph_count == 1
        torch.testing.assert_close(wb.aot_compile(simple_model, (X, Y))(X, Y), simple_model(X, Y))

    def test_a_data_dependent_branch(self) -> None:
        found = wb.explain(model_with_graph_break, (X, Y))
        (row,) = found.breaks
        assert row.text == "if y.sum() < 0:"
        assert "ata-dependent" in row.kind
        assert found.graph_count == 2

    @pytest.mark.slow
    def test_torch_cond_has_no_break(self, tmp_path: Path) -> None:
        assert list(wb.explain(model_fixed, (X, Y)).breaks) == []
        compiled = wb.aot_compile(model_fixed, (X, Y))
        compiled.save(tmp_path / "fixed.aot")
        loaded = wb.load(tmp_path / "fixed.aot")
        for x in (X.abs(), -X.abs() - 2):
            torch.testing.assert_close(loaded(x, Y), model_fixed(x, Y))

    def test_item_breaks_and_where_does_not(self) -> None:
        def bad(x: torch.Tensor, t: torch.Tensor) -> torch.Tensor:
            if t.item() > 0:
                return x * 2
            return x

        def good(x: torch.Tensor, t: torch.Tensor) -> torch.Tensor:
            return torch.where(t > 0, x * 2, x)

        t = torch.tensor(1.0)
        assert len(wb.explain(bad, (X, t)).breaks) >= 1
        assert list(wb.explain(good, (X, t)).breaks) == []
        torch.testing.assert_close(wb.aot_compile(good, (X, t))(X, t), X * 2)
