"""A module's tensors stored once each, and put back."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest
import torch

import workbench as wb
from workbench.compiler.aot_files import stored_weights
from workbench.compiler.aot_files.stored_weights import Weights, pack
from workbench.errors import ArtifactError


class Tied(torch.nn.Module):
    """Tied weights, views of one storage, a plain attribute, an odd dtype."""

    def __init__(self) -> None:
        super().__init__()
        self.first = torch.nn.Linear(4, 4)
        self.second = torch.nn.Linear(4, 4)
        self.second.weight = self.first.weight
        base = torch.arange(100.0).reshape(10, 10)
        self.register_buffer("rows", base[2:4])
        self.register_buffer("turned", base[3:5].t())
        self.register_buffer("odd", torch.ones(2, dtype=torch.complex128), persistent=False)
        self.plain = base[3]
        self.small = torch.nn.Parameter(torch.randn(3).half(), requires_grad=False)


@pytest.fixture
def packed(tmp_path: Path) -> tuple[Tied, Weights, bytes]:
    module = Tied()
    bundle = pack(module, tmp_path)
    return module, Weights(bundle.file, bundle.table), bundle.skeleton


def test_every_tensor_comes_back(packed: tuple[Tied, Weights, bytes]) -> None:
    module, weights, skeleton = packed
    again, _ = weights.module(skeleton)
    assert list(again.state_dict()) == list(module.state_dict())
    for name, tensor in module.state_dict().items():
        torch.testing.assert_close(again.state_dict()[name], tensor)
        assert again.state_dict()[name].stride() == tensor.stride()
    assert isinstance(again.small, torch.nn.Parameter)
    assert not again.small.requires_grad


def test_what_was_shared_is_shared_again(packed: tuple[Tied, Weights, bytes]) -> None:
    _, weights, skeleton = packed
    again, _ = weights.module(skeleton)
    assert again.first.weight is again.second.weight
    again.plain.fill_(-1)
    assert again.rows[1].eq(-1).all()
    assert again.turned[:, 0].eq(-1).all()


def test_a_storage_is_stored_once_and_only_where_it_is_used(
    packed: tuple[Tied, Weights, bytes], tmp_path: Path
) -> None:
    stored = (tmp_path / "weights.safetensors").stat().st_size
    used = 4 * (16 + 4 + 4) + 30 * 4 + 2 * 16 + 3 * 2  # linear layers, three rows, odd, small
    assert used < stored < used + 1000


def test_a_module_on_meta_is_filled(packed: tuple[Tied, Weights, bytes]) -> None:
    module, weights, _ = packed
    with torch.device("meta"):
        empty = Tied()
    weights.fill(empty)
    assert empty.first.weight is empty.second.weight
    torch.testing.assert_close(empty.turned, module.turned)


def test_a_module_that_does_not_fit_is_refused_by_name(
    packed: tuple[Tied, Weights, bytes],
) -> None:
    with torch.device("meta"):
        other = Tied()
        other.first = torch.nn.Linear(5, 4)
    with pytest.raises(ArtifactError, match=r"first\.weight: the module has \(4, 5\)"):
        packed[1].fill(other)


def test_a_module_that_cannot_be_pickled_says_what_to_do(tmp_path: Path) -> None:
    module = Tied()
    module.lock = threading.Lock()
    with pytest.raises(ArtifactError, match="Save with weights='later'"):
        pack(module, tmp_path)


class Doubling(torch.nn.Module):
    def forward(self, weight: torch.Tensor) -> torch.Tensor:
        return weight * 2

    def right_inverse(self, weight: torch.Tensor) -> torch.Tensor:
        return weight / 2


@pytest.mark.parametrize("kind", ["weight_norm", "spectral_norm", "orthogonal", "own"])
def test_a_parametrized_module_is_parametrized_again(kind: str, tmp_path: Path) -> None:
    linear, nn = torch.nn.Linear(4, 3), torch.nn.utils
    if kind == "own":
        nn.parametrize.register_parametrization(linear, "weight", Doubling())
    else:
        getattr(nn.parametrizations, kind)(linear)
    module = torch.nn.Sequential(linear, torch.nn.ReLU()).eval()
    bundle = pack(module, tmp_path)
    again, _ = Weights(bundle.file, bundle.table).module(bundle.skeleton)
    x = torch.randn(5, 4)
    torch.testing.assert_close(again(x), module(x))
    assert list(again.state_dict()) == list(module.state_dict())
    assert nn.parametrize.is_parametrized(again[0])
    assert isinstance(again[0], torch.nn.Linear)
    if kind == "own":
        again[0].weight = torch.ones(3, 4)
        torch.testing.assert_close(again[0].weight, torch.ones(3, 4))


FACTOR = 2.0


def test_the_class_of_a_module_stays_as_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A class of a notebook travels by value, and is found again in the process that wrote it."""

    class Local(torch.nn.Module):
        """Reads a global, which changes later."""

        def __init__(self) -> None:
            super().__init__()
            self.linear = torch.nn.Linear(4, 4)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x * FACTOR

    module, forward = Local(), Local.forward
    compiled = wb.aot_compile(module, (torch.ones(4),), backend="eager", grad=False)
    compiled.save(tmp_path / "a.aot")
    assert Local.forward is forward
    loaded = wb.load(tmp_path / "a.aot", trust=True)
    assert Local.forward is forward
    assert isinstance(loaded.module, Local)
    monkeypatch.setitem(globals(), "FACTOR", 3.0)
    torch.testing.assert_close(module(torch.ones(4)), torch.full((4,), 3.0))


def test_what_older_files_call_this_room_is_found() -> None:
    pickled = b"cworkbench.compiler.aot_files.weights\nparametrized\n."
    assert stored_weights._Unpickler(pickled, {}).load() is stored_weights.parametrized
