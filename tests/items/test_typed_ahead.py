"""Code of torch's guides to compilation ahead of time, as it is typed there.

Left out are `.cuda()` and pretrained weights. What no longer runs as it was typed is a row of
`wb.aotinductor_names()`, with what replaced it.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
import torch.nn as nn
from torch.export import Dim, export

from tests.older_releases import since

pytestmark = pytest.mark.usefixtures("forgotten")

AOT_EAGER = pytest.param("aot_eager", marks=since("2.12", "what aot_eager makes cannot be kept"))


class MyModel(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(4, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.linear(x)


class Mixer(nn.Module):
    def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return x.sum(1) + y


def fn(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return x + y


class TestAheadOfTime:
    """The guide to aot_compile."""

    @pytest.mark.slow
    def test_a_free_function_ahead_of_time(self, tmp_path: Path) -> None:
        compiled_fn = torch.compile(fn, fullgraph=True).aot_compile(
            ((torch.randn(3, 4), torch.randn(3, 4)), {})
        )
        x, y = torch.randn(3, 4), torch.randn(3, 4)
        torch.testing.assert_close(compiled_fn(x, y), x + y)
        compiled_fn.save_compiled_function(str(tmp_path / "compiled_add.pt"))
        with open(tmp_path / "compiled_add.pt", "rb") as f:
            loaded_fn = torch.compiler.load_compiled_function(f)
        torch.testing.assert_close(loaded_fn(x, y), x + y)

    @pytest.mark.slow
    def test_a_module_ahead_of_time(self, tmp_path: Path) -> None:
        model = MyModel()
        compiled_fn = torch.compile(model, fullgraph=True).forward.aot_compile(
            ((torch.randn(3, 4, requires_grad=True),), {})
        )
        compiled_fn.save_compiled_function(str(tmp_path / "compiled_model.pt"))
        with open(tmp_path / "compiled_model.pt", "rb") as f:
            loaded_fn = torch.compiler.load_compiled_function(f)
        for call in (compiled_fn, loaded_fn):
            inputs = torch.randn(3, 4, requires_grad=True)
            call(model, inputs).sum().backward()
            torch.testing.assert_close(inputs.grad, model.linear.weight.sum(0).expand(3, 4))

    @pytest.mark.parametrize(
        "backend",
        [
            pytest.param("inductor", marks=pytest.mark.slow),
            "eager",
            AOT_EAGER,
        ],
    )
    def test_backends_ahead_of_time(self, backend: str) -> None:
        def fn(x: torch.Tensor) -> torch.Tensor:
            return x.sin()

        compiled_fn = torch.compile(fn, fullgraph=True, backend=backend).aot_compile(
            ((torch.randn(3, 4),), {})
        )
        x = torch.randn(3, 4)
        torch.testing.assert_close(compiled_fn(x), x.sin())

    def test_a_closure_ahead_of_time(self, tmp_path: Path) -> None:
        scale = 2

        def fn(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
            return (x + y) * scale

        compiled_fn = torch.compile(fn, fullgraph=True, backend="eager").aot_compile(
            ((torch.randn(3, 4), torch.randn(3, 4)), {})
        )
        compiled_fn.save_compiled_function(str(tmp_path / "scaled_add.pt"))
        with open(tmp_path / "scaled_add.pt", "rb") as f:
            loaded_fn = torch.compiler.load_compiled_function(f)
        x, y = torch.randn(3, 4), torch.randn(3, 4)
        torch.testing.assert_close(loaded_fn(x, y), (x + y) * 2)

    def test_a_captured_module_as_external_data(self, tmp_path: Path) -> None:
        model = MyModel()

        def through(x: torch.Tensor) -> torch.Tensor:
            return model(x) + 1

        compiled_fn = torch.compile(through, fullgraph=True, backend="eager").aot_compile(
            ((torch.randn(3, 4),), {})
        )
        path = str(tmp_path / "fn_with_model.pt")
        compiled_fn.save_compiled_function(path, external_data={"model": model})
        with open(path, "rb") as f:
            loaded_fn = torch.compiler.load_compiled_function(f, external_data={"model": model})
        x = torch.randn(3, 4)
        torch.testing.assert_close(loaded_fn(x), model(x) + 1)


class TestExport:
    """Guides to torch.export and to AOTInductor."""

    def test_export_or_the_reason(self) -> None:
        class Branch(nn.Module):
            def forward(self, x: torch.Tensor) -> torch.Tensor:
                return x if x.sum() > 0 else -x

        def attempt(model: nn.Module) -> str:
            try:
                export(model, (torch.randn(1, 4),))
                return "Export successful!"
            except Exception as e:
                return f"Export failed: {e}"

        assert attempt(MyModel()) == "Export successful!"
        assert "data-dependent" in attempt(Branch())

    def test_export_with_a_dynamic_batch(self) -> None:
        batch = Dim("batch", min=1, max=512)
        ep = export(MyModel(), args=(torch.randn(8, 4),), dynamic_shapes={"x": {0: batch}})
        (bounds,) = ep.range_constraints.values()
        assert (int(bounds.lower), int(bounds.upper)) == (1, 512)

    def test_two_inputs_share_a_batch(self) -> None:
        batch = Dim("batch", min=1, max=1024)
        seq = Dim("seq", min=1, max=2048)
        ep = export(
            Mixer(),
            args=(torch.randn(4, 8), torch.randn(4)),
            dynamic_shapes={"x": {0: batch, 1: seq}, "y": {0: batch}},
        )
        assert len(ep.range_constraints) == 2

    def test_kinds_of_dims(self) -> None:
        dims: list[Any] = [Dim("batch"), Dim("batch", min=1, max=512), Dim("seq", min=8, max=2048)]
        for dim in dims:
            ep = export(MyModel(), (torch.randn(16, 4),), dynamic_shapes={"x": {0: dim}})
            assert ep.module()(torch.ones(24, 4)).shape == (24, 4)

    def test_two_sizes_of_a_server(self) -> None:
        batch = Dim("batch", min=1, max=32)
        seq = Dim("seq", min=1, max=2048)
        x = torch.randn(2, 8, 4)
        ep = export(MyModel(), (x,), dynamic_shapes={"x": {0: batch, 1: seq}})
        assert ep.module()(torch.ones(32, 100, 4)).shape == (32, 100, 4)
        with pytest.raises(Exception, match="32"):
            ep.module()(torch.ones(64, 100, 4))

    @pytest.mark.slow
    def test_a_library_ahead_of_time(self) -> None:
        from torch._inductor import aot_compile

        model = MyModel().eval()
        example_inputs = (torch.randn(1, 4),)
        exported_model = torch.export.export(model, example_inputs)
        so_path = aot_compile(exported_model.module(), example_inputs)
        assert str(so_path).endswith(".so")

    @pytest.mark.slow
    def test_a_package_ahead_of_time(self, tmp_path: Path) -> None:
        model, x = MyModel().eval(), torch.randn(8, 4)
        ep = export(model, (x,))
        package_path = torch._inductor.aoti_compile_and_package(
            ep, package_path=str(tmp_path / "model.pt2")
        )
        compiled_model = torch._inductor.aoti_load_package(package_path)
        torch.testing.assert_close(compiled_model(x), model(x))
