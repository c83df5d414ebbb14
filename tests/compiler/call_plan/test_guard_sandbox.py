"""Other inputs against the real guards: the sandbox says what a real call would say."""

from __future__ import annotations

import gc
import re
import weakref
from pathlib import Path
from typing import Any

import pytest
import torch

import workbench as wb
from workbench.errors import ContractError, UsageError
from workbench.handles.compiled import Compiled


def add(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return x + y


@pytest.fixture(scope="module")
def added() -> Compiled:
    return wb.aot_compile(add, (torch.rand(4, 8), torch.rand(4, 8)))


def test_the_inputs_are_those_of_the_example(added: Compiled) -> None:
    sandbox = added.guard_sandbox
    assert sandbox.why_not is None
    assert [item.to_json() for item in sandbox.inputs] == [
        {"path": path, "shape": [4, 8], "stride": [8, 1], "dtype": "float32", "device": "cpu"}
        for path in ("L['x']", "L['y']")
    ]
    assert sandbox.check().ok
    assert sandbox.check().checked > 2


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ({"shape": [4, 9], "stride": [9, 1]}, "expected size 8 at dimension 1, got 9"),
        ({"stride": [1, 4]}, "expected stride"),
        ({"dtype": "float64"}, "expected dtype float32, got float64"),
        ({"dtype": "int64"}, "expected dtype float32, got int64"),
        ({"device": "meta"}, "expected device cpu, got meta"),
        ({"shape": [4, 8, 1], "stride": [8, 1, 1]}, "expected shape"),
        ({"shape": [1 << 30, 8], "stride": [8, 1]}, "got 1073741824"),
    ],
)
def test_the_answer_is_that_of_a_call(added: Compiled, change: dict[str, Any], word: str) -> None:
    answer = added.guard_sandbox.check([{"path": "L['y']", **change}])
    assert not answer.ok
    assert answer.failed is not None
    assert word in answer.failed
    assert answer.guard is not None
    assert answer.guard.startswith("tensor 'L['y']' ")
    assert 0 < answer.checked <= added.guard_sandbox.check().checked


def test_it_agrees_with_real_calls(added: Compiled) -> None:
    for shape, dtype in (((4, 8), torch.float32), ((4, 8), torch.float64), ((2, 8), torch.float32)):
        x = torch.zeros(shape, dtype=dtype)
        item = {"path": "L['x']", "shape": list(x.shape), "stride": list(x.stride())}
        answer = added.guard_sandbox.check([{**item, "dtype": str(dtype)}])
        if answer.ok:
            added(x, torch.rand(4, 8))
        else:
            with pytest.raises(ContractError, match=re.escape(answer.failed or "")):
                added(x, torch.rand(4, 8))


def test_named_dimensions_and_their_ranges() -> None:
    batch = torch.export.Dim("batch", min=2, max=16)
    compiled = wb.aot_compile(
        add, (torch.rand(4, 8), torch.rand(4, 8)), dynamic_shapes=({0: batch}, {0: batch})
    )

    def rows(x: int, y: int) -> list[dict[str, Any]]:
        sizes = {"x": x, "y": y}
        return [
            {"path": f"L['{name}']", "shape": [size, 8], "stride": [8, 1]}
            for name, size in sizes.items()
        ]

    sandbox = compiled.guard_sandbox
    assert sandbox.check(rows(6, 6)).ok
    shared = sandbox.check(rows(6, 7))
    assert (shared.ok, "makes batch 7" in (shared.failed or "")) == (False, True)
    beyond = sandbox.check(rows(20, 20))
    assert (beyond.ok, "outside the declared" in (beyond.failed or "")) == (False, True)


@pytest.mark.parametrize(
    ("item", "words"),
    [
        ({"path": "L['z']"}, "is not an input: expected one of L"),
        ({"path": "L['x']", "shape": [4, -1]}, "expected a list of whole numbers"),
        ({"path": "L['x']", "shape": [4]}, "has 1 size and 2 strides"),
        ({"path": "L['x']", "dtype": "float33"}, "is not a dtype"),
        ({"path": "L['x']", "shape": [1 << 50, 8]}, "too much memory for a trial"),
        ({"path": "L['x']", "device": "nowhere"}, "cannot be created on nowhere"),
    ],
)
def test_what_no_tensor_can_be_is_a_sentence(
    added: Compiled, item: dict[str, Any], words: str
) -> None:
    with pytest.raises(UsageError, match=words):
        added.guard_sandbox.check([item])


def test_a_module_with_nested_inputs_and_constants() -> None:
    class Model(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.linear = torch.nn.Linear(3, 3)

        def forward(self, batch: dict[str, Any], scale: float = 2.0) -> torch.Tensor:
            out: torch.Tensor = self.linear(batch["ids"][0]) * scale
            return out

    compiled = wb.aot_compile(Model(), ({"ids": (torch.rand(2, 3),)},))
    sandbox = compiled.guard_sandbox
    assert [item.path for item in sandbox.inputs] == ["L['batch']['ids'][0]"]
    assert sandbox.check().ok
    changed = {"path": "L['batch']['ids'][0]", "shape": [5, 3], "stride": [3, 1]}
    assert not sandbox.check([changed]).ok


def test_a_gradient_is_wanted_like_in_the_example() -> None:
    compiled = wb.aot_compile(add, (torch.rand(2, requires_grad=True), torch.rand(2)))
    assert compiled.guard_sandbox.check().ok
    with torch.no_grad():
        assert "grad mode" in (compiled.guard_sandbox.check().failed or "")


def test_the_example_is_not_kept_alive() -> None:
    x = torch.rand(4)
    alive = weakref.ref(x)
    compiled = wb.aot_compile(lambda a: a + 1, (x,))
    assert compiled.guard_sandbox.check().ok
    del x
    gc.collect()
    assert alive() is None


def test_the_front_end_asks_and_is_answered(added: Compiled) -> None:
    question = {"inputs": [{"path": "L['x']", "dtype": "float16"}]}
    answer = added.guard_sandbox(question)
    assert set(answer) == {"ok", "failed", "guard", "checked"}
    assert answer["ok"] is False


def test_after_loading(added: Compiled, tmp_path: Path) -> None:
    added.save(tmp_path / "a.aot")
    loaded = wb.load(tmp_path / "a.aot", trust=True)
    assert loaded.guard_sandbox.check().ok
    assert not loaded.guard_sandbox.check([{"path": "L['x']", "dtype": "float64"}]).ok
    nested = wb.aot_compile(lambda pair: pair[0] + pair[1], ((torch.rand(2), torch.rand(2)),))
    nested.save(tmp_path / "b.aot")
    loaded = wb.load(tmp_path / "b.aot", trust=True)
    assert "containers" in (loaded.guard_sandbox.why_not or "")
    with pytest.raises(UsageError, match="containers"):
        loaded.guard_sandbox.check()


def test_of_several_conditions_on_sizes_the_broken_one_is_named() -> None:
    def in_pairs(x: torch.Tensor) -> torch.Tensor:
        return x.view(x.shape[0] // 2, 2, -1).sum(1)

    batch = torch.export.Dim("batch", min=4)
    compiled = wb.aot_compile(
        in_pairs, (torch.ones(8, 4),), dynamic_shapes={"x": {0: batch}}, backend="eager"
    )
    answer = compiled.guard_sandbox.check([{"path": "L['x']", "shape": [7, 4]}])
    assert answer.guard is not None
    words = answer.guard.replace("L['x']", "x")  # the guard is torch's text, the sentence is ours
    assert answer.failed == f"{words}, which is not so: x is [7, 4]"
