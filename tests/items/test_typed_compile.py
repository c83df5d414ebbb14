"""Code of torch's guides to torch.compile, as it is typed there.

Left out are `.cuda()` and pretrained weights. What no longer runs as it was typed is a row of
`wb.aotinductor_names()`, with what replaced it.
"""

from __future__ import annotations

import logging
import time

import pytest
import torch
import torch.nn as nn

pytestmark = pytest.mark.usefixtures("forgotten")


class MyModel(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(4, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.linear(x)


class TestTorchCompile:
    """Introductions to torch.compile."""

    def test_a_simple_model(self) -> None:
        class SimpleModel(torch.nn.Module):
            def __init__(self) -> None:
                super().__init__()
                self.linear = torch.nn.Linear(10, 1)

            def forward(self, x: torch.Tensor) -> torch.Tensor:
                return self.linear(x)

        model = SimpleModel()
        compiled_model = torch.compile(model)
        input_data = torch.randn(32, 10)
        output = compiled_model(input_data)
        torch.testing.assert_close(output, model(input_data))

    @pytest.mark.slow
    def test_the_three_ways_to_compile(self) -> None:
        @torch.compile
        def inference_fn(x: torch.Tensor) -> torch.Tensor:
            return torch.nn.functional.relu(x + 1) * 2

        input_tensor = torch.randn(2, 4)
        expected = torch.nn.functional.relu(input_tensor + 1) * 2
        torch.testing.assert_close(inference_fn(input_tensor), expected)
        model = MyModel()
        eager = model(input_tensor)
        compiled_model = torch.compile(model)
        torch.testing.assert_close(compiled_model(input_tensor), eager)
        model.compile()
        torch.testing.assert_close(model(input_tensor), eager)

    @pytest.mark.slow
    def test_every_option_at_once(self) -> None:
        model, data = MyModel(), torch.randn(2, 4)
        compiled_model = torch.compile(
            model, mode="reduce-overhead", fullgraph=True, dynamic=False, backend="inductor"
        )
        torch.testing.assert_close(compiled_model(data), model(data))

    @pytest.mark.slow
    @pytest.mark.parametrize(
        "mode", ["default", "reduce-overhead", "max-autotune", "max-autotune-no-cudagraphs"]
    )
    def test_every_mode_as_typed(self, mode: str) -> None:
        model, data = MyModel().eval(), torch.randn(2, 4)
        with torch.no_grad():
            torch.testing.assert_close(torch.compile(model, mode=mode)(data), model(data))

    @pytest.mark.slow
    def test_the_first_and_the_second_call(self) -> None:
        model = torch.compile(nn.Conv2d(3, 4, 3))
        input = torch.randn(1, 3, 32, 32)
        start = time.time()
        model(input)
        first = time.time() - start
        start = time.time()
        model(input)
        assert time.time() - start < first

    @pytest.mark.slow
    def test_three_operations_in_one_kernel(self) -> None:
        @torch.compile
        def fused(input: torch.Tensor) -> torch.Tensor:
            return torch.relu(input + 1) * 2

        input = torch.randn(64)
        x = input + 1
        y = torch.relu(x)
        z = y * 2
        torch.testing.assert_close(fused(input), z)


class TestCapture:
    """Graph breaks and their cures."""

    @pytest.mark.slow
    def test_a_function_that_is_captured_whole(self) -> None:
        @torch.compile
        def simple_model(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
            a = torch.sin(x)
            b = torch.cos(y)
            return a + b

        x, y = torch.randn(8), torch.randn(8)
        torch.testing.assert_close(simple_model(x, y), x.sin() + y.cos())

    @pytest.mark.slow
    def test_a_branch_on_values(self) -> None:
        @torch.compile
        def model_with_graph_break(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
            a = torch.sin(x)
            if y.sum() < 0:
                y = y * -1
            return a + y

        x, y = torch.randn(8), torch.ones(8)
        for sign in (y, -y):
            torch.testing.assert_close(model_with_graph_break(x, sign), x.sin() + y)

    @pytest.mark.filterwarnings("ignore:`torch.jit:DeprecationWarning")
    def test_torch_jit_script_and_trace_beside_it(self) -> None:
        def sin_or_cos(x: torch.Tensor) -> torch.Tensor:
            if x.sum() > 0:
                return torch.sin(x)
            return torch.cos(x)

        def scaled(x, times=2):  # type: ignore[no-untyped-def]
            return x * times

        x = torch.ones(8)
        traced = torch.jit.trace(sin_or_cos, (x,), check_trace=False)
        scripted = torch.jit.script(sin_or_cos)
        compiled = torch.compile(sin_or_cos, backend="eager")
        torch.testing.assert_close(traced(-x), torch.sin(-x))  # silently the other branch
        torch.testing.assert_close(scripted(-x), torch.cos(-x))
        torch.testing.assert_close(compiled(-x), torch.cos(-x))
        with pytest.raises(RuntimeError, match="not annotated with an explicit type"):
            torch.jit.script(scaled)
        whole = torch.compile(scaled, backend="eager", fullgraph=True)
        torch.testing.assert_close(whole(x), x * 2)

    def test_logs_of_graph_breaks(self, caplog: pytest.LogCaptureFixture) -> None:
        torch._logging.set_logs(graph_breaks=True)
        try:

            @torch.compile(backend="eager")
            def model(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
                a = x + 1
                if a.sum() > 0:
                    return a * 2
                return a * -1

            heard: list[str] = []
            handler = logging.Handler()
            handler.emit = lambda record: heard.append(record.getMessage())  # type: ignore[method-assign]
            logger = logging.getLogger("torch._dynamo.symbolic_convert.__graph_breaks")
            logger.addHandler(handler)
            try:
                model(torch.randn(10), torch.randn(10))
            finally:
                logger.removeHandler(handler)
        finally:
            torch._logging.set_logs()
        assert any("if a.sum() > 0" in text for text in heard)

    @pytest.mark.slow
    def test_torch_cond_as_typed(self) -> None:
        from torch import cond

        @torch.compile(fullgraph=True)
        def model_fixed(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
            a = x + 1

            def true_fn(y: torch.Tensor) -> torch.Tensor:
                return y * 2

            def false_fn(y: torch.Tensor) -> torch.Tensor:
                return y * -1

            result: torch.Tensor = cond(a.sum() > 0, true_fn, false_fn, (y,))
            return a + result

        one = torch.ones(4)
        torch.testing.assert_close(model_fixed(one, one), one * 4)
        torch.testing.assert_close(model_fixed(-one * 3, one), -one * 3)


class TestParts:
    """Models of several parts, each compiled in its own mode."""

    @pytest.mark.slow
    def test_two_parts_with_two_modes(self) -> None:
        class Pair(nn.Module):
            def __init__(self) -> None:
                super().__init__()
                self.vision_encoder, self.language_decoder = MyModel(), MyModel()

            def forward(self, images: torch.Tensor, tokens: torch.Tensor) -> torch.Tensor:
                return self.language_decoder(tokens) + self.vision_encoder(images)

        model = Pair().eval()
        images, text_tokens = torch.randn(2, 4), torch.randn(2, 4)
        with torch.no_grad():
            expected = model(images, text_tokens)
            model.vision_encoder = torch.compile(model.vision_encoder, mode="reduce-overhead")
            model.language_decoder = torch.compile(model.language_decoder, mode="default")
            torch.testing.assert_close(model(images, text_tokens), expected)

    @pytest.mark.slow
    def test_three_scorers_with_three_modes(self) -> None:
        @torch.compile(mode="max-autotune")
        def propositional_scorer(patches: torch.Tensor) -> torch.Tensor:
            share = patches.softmax(-1)
            return -(share * share.log()).sum(-1)

        @torch.compile(mode="default")
        def perspectival_scorer(patches: torch.Tensor, query: torch.Tensor) -> torch.Tensor:
            return (patches @ query).softmax(-1)

        @torch.compile(mode="reduce-overhead")
        def participatory_scorer(patches: torch.Tensor, query: torch.Tensor) -> torch.Tensor:
            return torch.tanh(patches @ query)

        patches, query = torch.randn(6, 8), torch.randn(8)
        torch.testing.assert_close(perspectival_scorer(patches, query).sum(), torch.tensor(1.0))
        assert propositional_scorer(patches).shape == (6,)
        torch.testing.assert_close(
            participatory_scorer(patches, query), torch.tanh(patches @ query)
        )
