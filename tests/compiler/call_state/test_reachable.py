"""One walk finds all that a call can write to, names it, and puts it back."""

from __future__ import annotations

import functools
import gc
import weakref
from collections.abc import Iterator
from typing import Any

import pytest
import torch
from torch import nn

from tests.compiler.call_state import state_samples as samples
from workbench.compiler.call_state.call_leaves import find_held_inputs, find_learning_tensors
from workbench.compiler.call_state.reachable import (
    Follows,
    Snapshot,
    _Search,
    holds_tensors,
    list_tensors,
    walk_reachable,
)
from workbench.compiler.internals.tensor_kind import find_dense_parts
from workbench.compiler.packaging.capture_side_effects import show_variable, state_of

WRITING = samples.list_writing()


@pytest.mark.parametrize("what", WRITING)
def test_what_a_call_writes_is_found_and_put_back(what: str) -> None:
    call, places = samples.list_writing()[what]
    before = Snapshot.of(walk_reachable([("", call)]))
    call(torch.ones(3, 2))
    assert {*before.changes()} == places
    before.restore()
    assert not before.changes()
    call(torch.ones(3, 2))  # it is whole again
    assert {*before.changes()} == places
    before.restore()


def test_an_ordered_dict_keeps_its_order() -> None:
    held = samples.make_ordered()
    before = Snapshot.of(walk_reachable([("", samples.Keeping(held, len))]))
    del held["a"]
    held["c"] = 3
    before.restore()
    assert [*held] == ["a", "b"]
    held.move_to_end("a")
    assert [*held] == ["b", "a"]


def test_equal_values_in_new_containers_are_no_change() -> None:
    module = samples.Keeping([(1, 2.0), {"a": {1, 2}}], len)
    module.value[0] = (1, float("nan"))
    before = Snapshot.of(walk_reachable([("", module)]))
    module.value = [(1, float("nan")), {"a": {2, 1}}]
    assert not before.changes()
    module.value = [(1, 3.0), {"a": {2, 1}}]
    assert {*before.changes()} == {"attribute value"}


def test_a_class_and_its_object_have_names_of_their_own() -> None:
    module = samples.Derived()
    module.calls = 7
    names = {
        holder.named(key)
        for holder in walk_reachable([("", nn.Sequential(module))]).holders
        for key in holder.read()
    }
    assert {"attribute 0.calls", "attribute Base.calls"} <= names


READING = {
    "method of an object": lambda: samples.Worker().run,
    "cached method and property": samples.Cached,
    "function within": lambda: samples.read_within,
    "partial": lambda: functools.partial(samples.read_within),
    "helper in a module": lambda: samples.count_in_module,
    "slots": lambda: samples.Keeping(samples.Slotted(), len),
    "namespace": samples.WithStatic,
}


@pytest.mark.parametrize("what", READING)
def test_tensors_that_code_reads_are_found(what: str) -> None:
    read = list_tensors(READING[what](), code=True)
    assert read
    assert len({*map(id, read)}) == len(read)


def test_a_torchscript_module_keeps_its_tensors_in_other_tables() -> None:
    scripted = torch.jit.script(torch.nn.BatchNorm1d(2))
    assert len(list_tensors(scripted)) == 5


def test_a_view_that_torch_refuses_to_look_at_is_a_tensor_like_others() -> None:
    base = torch.zeros(4, requires_grad=True).clone()
    with torch.no_grad():
        views = base.split(2)
        base.add_(1)
    assert len(list_tensors(views)) == 2


@pytest.fixture
def without_collections() -> Iterator[None]:
    gc.collect()
    gc.disable()
    yield
    gc.enable()


@pytest.mark.usefixtures("without_collections")
def test_what_was_found_goes_with_its_last_reference() -> None:
    x = torch.ones(2)
    gone = weakref.ref(x)
    assert len(list_tensors([x])) == 1
    assert walk_reachable([("", [x])]).tensors
    del x
    assert gone() is None


def test_an_input_that_code_reads_too_is_held() -> None:
    worker = samples.Worker()
    assert find_held_inputs(worker.run, (worker.weight,), {}) == (worker.weight,)
    assert not find_held_inputs(worker.run, (torch.ones(2),), {})


def test_gradients_are_asked_for_by_the_names_of_their_places() -> None:
    x = torch.ones(2, requires_grad=True)
    learned = find_learning_tensors(samples.read_within, None, ((x,), {}))
    assert [*learned] == ["input[0][0]", "WEIGHT"]


def test_a_gradient_that_is_held_is_not_read() -> None:
    linear = nn.Linear(2, 2)
    linear(torch.ones(2)).sum().backward()
    assert list_tensors(linear, code=True) == [linear.weight, linear.bias]


@pytest.mark.parametrize(
    ("value", "holds"),
    [
        (samples.Slotted(), True),
        (samples.SPACE, True),
        (functools.partial(len, torch.ones(1)), True),
        ({"a": [nn.Identity()]}, True),
        (samples.read_within, False),  # code is written by its name
        (samples.Color.RED, False),
        ([1, ["a"]], False),
        ([[n] for n in range(20_000)], True),  # nobody knows
    ],
)
def test_an_object_that_holds_tensors(value: Any, holds: bool) -> None:
    assert holds_tensors(value) is holds


def test_data_is_not_followed_into_code() -> None:
    assert not list_tensors(samples.read_within)
    search = _Search(Follows(most=3), {})
    assert len(list(search.run([("", samples.list_writing()["base class"][0])]))) < 6
    assert not search.found.is_whole


def test_a_distributed_tensor_is_one_tensor_with_parts() -> None:
    from torch.testing._internal.two_tensor import TwoTensor

    held = TwoTensor(torch.ones(2), torch.zeros(2))
    module = samples.Keeping({"both": held}, lambda value: value["both"].add_(1))
    reached = walk_reachable([("", module)])
    assert reached.tensors["attribute value['both']"] is held
    before = Snapshot.of(reached)
    module(torch.ones(1))
    assert {*before.changes()} == {"attribute value['both']"}
    before.restore()
    assert [part.tolist() for part in find_dense_parts(held)] == [[1, 1], [0, 0]]


def test_a_capture_names_the_variable_and_its_module() -> None:
    module = nn.Sequential(samples.Holding(), samples.Derived())
    before = state_of(module)
    module[0].table["n"] = 5
    samples.Base.calls += 1
    module[1].linear.weight = nn.Parameter(torch.zeros(2, 2))  # a capture's own affair
    rows = before.list_replaced()
    before.restore()
    assert {(show_variable(one), one.variable.module) for one in rows} == {
        ("self.0.table", "0"),
        ("Base.calls", None),
    }
