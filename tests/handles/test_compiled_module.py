"""A compiled module stands where the module stood: in a bigger model, in another compilation."""

from __future__ import annotations

import copy
from pathlib import Path

import pytest
import torch

import workbench as wb
from workbench.processes.shipping.shipped_values import pack, unpack

X = torch.randn(4, 8)


class Encoder(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.net = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.Dropout(0.5))
        self.config = {"width": 8}
        self.scale = 2.0

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.relu(self.net(x)) * self.scale

    def get_extra_state(self) -> dict[str, float]:
        return {"scale": self.scale}

    def set_extra_state(self, state: dict[str, float]) -> None:
        self.config["restored"] = state["scale"]


class Model(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.vision_encoder = Encoder()
        self.head = torch.nn.Linear(8, 2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.head(self.vision_encoder(x) * 2)


@pytest.fixture
def model() -> Model:
    made = Model().eval()
    encoder = wb.aot_compile(made.vision_encoder, (X,), backend="eager")
    made.vision_encoder = encoder
    return made


def test_it_takes_the_place_of_the_module_under_the_same_names(model: Model) -> None:
    plain = Model().eval()
    assert list(model.state_dict()) == list(plain.state_dict())
    assert [n for n, _ in model.named_modules()] == [n for n, _ in plain.named_modules()]
    plain.load_state_dict(model.state_dict())
    torch.testing.assert_close(model(X), plain(X))
    fresh = Model().eval()
    model.load_state_dict(fresh.state_dict())
    torch.testing.assert_close(model(X), fresh(X))
    assert model.vision_encoder.config == {"width": 8, "restored": 2.0}
    assert "(vision_encoder): Compiled(Encoder(" in repr(model)


def test_its_gradients_reach_the_parameters(model: Model) -> None:
    model(X).sum().backward()
    assert all(p.grad is not None for p in model.vision_encoder.parameters())


def test_what_the_contract_forbids_is_refused_in_a_sentence(model: Model) -> None:
    with pytest.raises(wb.UsageError, match=r"compiled for evaluation, and train\(\) does not"):
        model.train()
    assert model.eval().vision_encoder.training is False
    with pytest.raises(wb.UsageError, match=r"cannot be converted to torch\.float64"):
        model.to(torch.float64)
    assert model.to("cpu") is model
    with pytest.raises(wb.UsageError, match="state_dict"):
        copy.deepcopy(model)


def test_what_is_set_on_it_is_set_on_the_original_whose_guards_see_it(model: Model) -> None:
    original = model.vision_encoder.module
    model.vision_encoder.net[0].weight = torch.nn.Parameter(torch.zeros(8, 8))
    assert not original.net[0].weight.any()
    model(X)
    model.vision_encoder.scale = 3.0
    assert original.scale == 3.0
    with pytest.raises(wb.ContractError, match=r"scale == 2\.0"):
        model(X)


def test_a_model_that_holds_one_is_compiled_elsewhere_with_the_original(
    model: Model, tmp_path: Path
) -> None:
    there = unpack(pack({"model": model}, "Model"))["model"]
    assert type(there.vision_encoder) is Encoder
    torch.testing.assert_close(there(X), model(X))
    whole = wb.aot_compile(model, (X,), backend="eager")
    with pytest.raises(
        wb.UsageError, match=r"contains parts that were already compiled \(vision_encoder\)"
    ):
        whole.save(tmp_path / "whole.aot")


def test_another_compilation_takes_its_code_in(model: Model) -> None:
    want = model(X)
    torch.testing.assert_close(torch.compile(model, backend="eager", fullgraph=True)(X), want)
    whole = wb.aot_compile(model, (X,), backend="eager")
    torch.testing.assert_close(whole(X), want)
    assert "vision_encoder was already compiled" in whole.report.request.notes[0]


def test_a_function_is_no_module_and_is_taken_in_too(tmp_path: Path) -> None:
    added = wb.aot_compile(torch.sin, (X,), backend="eager")
    assert not isinstance(added, torch.nn.Module)
    doubled = torch.compile(lambda x: added(x) * 2, backend="eager", fullgraph=True)
    torch.testing.assert_close(doubled(X), X.sin() * 2)
    added.save(tmp_path / "sin.aot")
    loaded = wb.load(tmp_path / "sin.aot")
    broken = torch.compile(lambda x: loaded(x) * 2, backend="eager")
    torch.testing.assert_close(broken(X), X.sin() * 2)
    with pytest.raises(torch._dynamo.exc.Unsupported, match="compiled code from a file"):
        torch.compile(lambda x: loaded(x) * 2, backend="eager", fullgraph=True)(X)
