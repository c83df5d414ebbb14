"""New weights while the package is called; weights beside the library; weights that come later."""

from __future__ import annotations

import copy
import gc
import threading
import weakref
from pathlib import Path
from typing import Any

import pytest
import torch

import workbench as wb
from workbench.artifacts.archive.file_kinds import open_any
from workbench.compiler.running.container import Library


def other(module: torch.nn.Module) -> torch.nn.Module:
    """The same module with other weights."""
    torch.manual_seed(7)
    changed = copy.deepcopy(module)
    for parameter in changed.parameters():
        torch.nn.init.normal_(parameter)
    return changed


def test_all_weights_are_replaced(small: Any) -> None:
    package, changed = small.load(), other(small.module)
    for module in (changed, small.module, changed):
        package.update_weights(module.state_dict())
        torch.testing.assert_close(package(*small.args), module(*small.args).detach())


def test_some_weights_are_replaced(small: Any) -> None:
    package, changed = small.load(), copy.deepcopy(small.module)
    for name in ("a.bias", "b.weight", "a.bias"):
        fresh = torch.randn_like(changed.get_parameter(name))
        changed.get_parameter(name).data.copy_(fresh)
        package.update_weights({name: fresh}, partial=True)
        torch.testing.assert_close(package(*small.args), changed(*small.args).detach())


def test_views_and_other_layouts_are_copied_as_they_are_read(small: Any) -> None:
    package, changed = small.load(), copy.deepcopy(small.module)
    wide = torch.randn(64, 64)
    changed.a.weight.data.copy_(wide[::2, :16])
    changed.b.weight.data.copy_(wide[:32, :8].t())
    package.update_weights(
        {"a.weight": wide[::2, :16], "b.weight": wide[:32, :8].t()}, partial=True
    )
    wide.zero_()  # the package has its own copy
    torch.testing.assert_close(package(*small.args), changed(*small.args).detach())


def test_each_weight_that_does_not_fit_is_named(small: Any) -> None:
    package = small.load()
    state = small.module.state_dict()
    state["a.weight"] = state["a.weight"].t()
    state["a.bias"] = state["a.bias"].double()
    del state["b.bias"]
    with pytest.raises(wb.UsageError) as error:
        package.update_weights(state)
    words = str(error.value)
    assert "a.weight: expected float32 [32, 16], got float32 [16, 32]" in words
    assert "a.bias: expected float32 [32], got float64 [32]" in words
    assert "b.bias: it is missing" in words
    with pytest.raises(wb.UsageError, match="wrong: the model has no such weight"):
        package.update_weights({"wrong": torch.zeros(1)}, partial=True)
    torch.testing.assert_close(package(*small.args), small.eager())


def test_tied_weights_are_one(tied: Any) -> None:
    package, changed = tied.load(), other(tied.module)
    package.update_weights(changed.state_dict())
    expected = changed(*tied.args)["logits"].detach()
    torch.testing.assert_close(package(*tied.args)["logits"], expected)
    for name in ("embedding.weight", "head.weight"):
        package.update_weights({name: tied.module.embedding.weight}, partial=True)
        torch.testing.assert_close(package(*tied.args)["logits"], tied.eager()["logits"])
    two = {"embedding.weight": torch.zeros(50, 16), "head.weight": torch.ones(50, 16)}
    with pytest.raises(wb.UsageError, match="it is the same tensor as"):
        package.update_weights(two, partial=True)


def test_the_interface_before_torch_2_13_names_the_same_weights(
    tied: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    container = tied.load()["model"].weights.container
    newer = container.current()
    monkeypatch.setattr(Library, "has", lambda *_: False)
    older = container.current()
    assert {name: weight.data_ptr() for name, weight in older.items()} == {
        name: weight.data_ptr() for name, weight in newer.items()
    }


def test_weights_that_come_later(later: Any) -> None:
    package = later.load()
    with pytest.raises(wb.UsageError, match=r"packaged without its weights. Set them first"):
        package(*later.args)
    with pytest.raises(wb.UsageError, match=r"b\.bias: it is missing"):
        package.update_weights({"a.weight": torch.zeros(32, 16)})
    package.update_weights(later.module.state_dict())
    torch.testing.assert_close(package(*later.args), later.eager())
    changed = other(later.module)
    package.update_weights(changed)
    torch.testing.assert_close(package(*later.args), changed(*later.args).detach())
    loaded = later.load(module=later.module)
    torch.testing.assert_close(loaded(*later.args), later.eager())


def test_a_package_that_waits_for_weights_goes_with_its_last_reference(later: Any) -> None:
    gc.collect()
    gc.disable()
    try:
        package = later.load()
        container = weakref.ref(package["model"]._container)
        del package
        assert container() is None
    finally:
        gc.enable()


def test_weights_beside_are_mapped_and_compared(tied: Any) -> None:
    package = tied.load()
    assert package.verified() is package
    maps = Path("/proc/self/maps").read_text()
    assert str(tied.path) in maps
    torch.testing.assert_close(package(*tied.args)["logits"], tied.eager()["logits"])


def test_changed_weights_are_found_in_the_background(tied: Any, tmp_path: Path) -> None:
    with open_any(tied.path) as opened:
        assert opened.package is not None
        (name,) = {c.member for c in opened.package.manifest.models[0].constants if c.member}
        start = opened.package.offset(name)
    content = bytearray(tied.path.read_bytes())
    content[start + 100] ^= 1
    (tmp_path / "tied.pt2").write_bytes(content)
    package = wb.load(tmp_path / "tied.pt2")
    with pytest.raises(wb.ArtifactError, match=r"weights\.blob has the wrong hash"):
        package.verified()
    with pytest.raises(wb.ArtifactError, match="that used it may be wrong"):
        package(*tied.args)


def swapped_under_load(small: Any, calls: int, threads: int) -> tuple[int, int]:
    """(wrong outputs, swaps) of threads that call while the weights change all the time."""
    package = small.load(num_runners=threads)
    modules = [small.module, other(small.module)]
    x, y = torch.randn(3, 16), torch.randn(3, 8)
    expected = []
    for module in modules:
        package.update_weights(module)
        expected.append(package(x, y))
    wrong: list[torch.Tensor] = []
    running = [True] * threads

    def work(index: int) -> None:
        for _ in range(calls):
            found = package(x, y)
            if not any(torch.equal(found, one) for one in expected):
                wrong.append(found)
        running[index] = False

    workers = [threading.Thread(target=work, args=(index,)) for index in range(threads)]
    for worker in workers:
        worker.start()
    swaps = 0
    while any(running):
        if swaps % 3 == 2:
            names = {"a.weight", "a.bias"}  # and then the rest: no call may see these alone
            state = modules[swaps % 2].state_dict()
            package.update_weights(state)
            package.update_weights({n: state[n] for n in names}, partial=True)
        else:
            package.update_weights(modules[swaps % 2])
        swaps += 1
    for worker in workers:
        worker.join()
    package.close()
    return len(wrong), swaps


def test_calls_see_old_or_new_weights_never_a_mixture(small: Any) -> None:
    wrong, swaps = swapped_under_load(small, calls=300, threads=8)
    assert wrong == 0
    assert swaps > 3


@pytest.mark.slow
def test_eighty_thousand_calls_see_old_or_new_weights(small: Any) -> None:
    wrong, swaps = swapped_under_load(small, calls=10_000, threads=8)
    assert wrong == 0
    assert swaps > 100


class OneElement(torch.nn.Module):
    """A scale and a counter of one element each, which torch would take for constants."""

    def __init__(self) -> None:
        super().__init__()
        self.scale = torch.nn.Parameter(torch.ones(1))
        self.register_buffer("calls", torch.zeros(()))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.calls.add_(1)
        return x * self.scale + self.calls


@pytest.mark.slow
def test_weights_and_buffers_of_one_element_are_no_constants(tmp_path: Path) -> None:
    module, x, path = OneElement().eval(), torch.zeros(3), tmp_path / "one.pt2"
    wb.package(module, (x,), path=path).close()
    package = wb.load(path, trust=True)
    assert [package(x)[0].item() for _ in range(3)] == [1.0, 2.0, 3.0]
    package.update_weights({"scale": torch.full((1,), 5.0)}, partial=True)
    assert package(torch.ones(3))[0].item() == 9.0
