"""One generator writes the fast check of a call, and it accepts nothing that the words refuse."""

from __future__ import annotations

import inspect
import random
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
import torch

import workbench as wb
from workbench.compiler.calls.paths import Path
from workbench.compiler.contract.contract import (
    Contract,
    Leaf,
    Terms,
    build_fast_check,
    build_fast_guard,
    describe,
)
from workbench.compiler.internals import torch_private as tp
from workbench.compiler.package_calls.call_check import CallContract
from workbench.compiler.sizes.dims import Dynamic, Relation, write_size_tests

CPU = torch.device("cpu")
TRIALS = 300


def draw_dim(dice: random.Random) -> Dynamic:
    return Dynamic(
        dice.choice([None, "rows", "columns"]),
        dice.choice([None, 0, 1, 2]),
        dice.choice([None, 4]),
        dice.choice([1, 2]),
        dice.choice([0, 1]),
    )


def make_leaf(name: str, shape: tuple[int | Dynamic, ...]) -> Leaf:
    return replace(describe(Path(name), torch.empty((2,) * len(shape))), shape=shape)


def accepts(leaves: tuple[Leaf, ...], values: Mapping[str, Any], **how: Any) -> bool:
    named = {str(leaf.path): leaf for leaf in leaves}
    check = build_fast_check(named, tp.DISPATCH_MODE_COUNT.get(), Terms(device=CPU, **how))
    return bool(eval(check.expression, {**check.scope, **values}))


def fits(leaves: tuple[Leaf, ...], values: Mapping[str, Any]) -> bool:
    try:
        CallContract("model", leaves, Terms(device=CPU)).examine([*values.values()])
    except wb.ContractError:
        return False
    return True


def test_a_size_that_is_named_twice_has_its_own_range_each_time() -> None:
    leaves = (make_leaf("x", (Dynamic("n", 1), 2)), make_leaf("y", (Dynamic("n", 3), 2)))
    small = {"x": torch.ones(2, 2), "y": torch.ones(2, 2)}
    large = {"x": torch.ones(3, 2), "y": torch.ones(3, 2)}
    assert (accepts(leaves, small), fits(leaves, small)) == (False, False)
    assert (accepts(leaves, large), fits(leaves, large)) == (True, True)
    relations = Contract(leaves).relations()
    assert relations is not None
    assert (relations(small), relations(large)) == (False, True)


@pytest.mark.parametrize("is_exact", [True, False])
def test_what_is_accepted_fast_is_accepted_in_words(is_exact: bool) -> None:
    dice, verdicts = random.Random(0), set[bool]()
    for _ in range(TRIALS):
        shapes = [(draw_dim(dice), 2) for _ in range(dice.randint(1, 3))]
        leaves = tuple(make_leaf(f"v{n}", shape) for n, shape in enumerate(shapes))
        values = {str(leaf.path): torch.ones(dice.randint(0, 5), 2) for leaf in leaves}
        fast = accepts(leaves, values, is_exact=is_exact)
        said = not Contract(leaves).mismatches(values) if is_exact else fits(leaves, values)
        assert not fast or said, [leaf.text for leaf in leaves]
        verdicts.add(fast)
    assert verdicts == {True, False}


def test_size_tests_hold_where_the_declarations_do() -> None:
    dice, verdicts = random.Random(1), set[bool]()
    for _ in range(TRIALS):
        pairs = [(draw_dim(dice), dice.randint(0, 5)) for _ in range(dice.randint(1, 4))]
        tests = [*write_size_tests([(f"s{n}", dim) for n, (dim, _) in enumerate(pairs)], {})]
        scope = {f"s{n}": size for n, (_, size) in enumerate(pairs)}
        values = {dim.name: dim.value(size) for dim, size in reversed(pairs)}
        wanted = all(
            (dim.min or 0) <= size <= (dim.max or size)
            if dim.name is None
            else dim.allows(size) and dim.value(size) == values[dim.name]
            for dim, size in pairs
        )
        assert bool(eval(" and ".join(tests) or "True", scope)) == wanted, pairs
        verdicts.add(wanted)
    assert verdicts == {True, False}


def test_a_relation_is_tested_in_the_variables_of_its_sizes() -> None:
    leaves = (make_leaf("x", (Dynamic("rows"), Dynamic("columns"))),)
    relation = (Relation("rows <= columns", "rows <= columns"),)
    assert accepts(leaves, {"x": torch.ones(2, 3)}, relations=relation)
    assert not accepts(leaves, {"x": torch.ones(3, 2)}, relations=relation)


@pytest.mark.parametrize("is_exact", [True, False])
def test_a_gradient_counts_where_terms_are_exact(is_exact: bool) -> None:
    x = torch.ones(2, requires_grad=True)
    leaves = (describe(Path("x"), x),)
    assert accepts(leaves, {"x": x}, is_exact=is_exact) is is_exact
    assert accepts(leaves, {"x": x.detach()}, is_exact=is_exact) is not is_exact


def test_words_for_a_file_ask_for_more_than_those_for_a_package() -> None:
    x = torch.ones(2, 3, requires_grad=True)
    leaves = (describe(Path("x"), torch.ones(2, 3)),)
    assert Contract(leaves).mismatches({"x": x}) == [
        "x: expected requires_grad=False, got True; pass x.detach(), or compile with an "
        "example of this kind"
    ]
    with torch.no_grad():
        assert fits(leaves, {"x": x})
    one = torch.ones(2, 3)[:1].as_strided((1, 3), (99, 1))
    leaves = (describe(Path("x"), torch.ones(1, 3)),)
    assert Contract(leaves).mismatches({"x": one}) != []
    assert fits(leaves, {"x": one})


def test_the_check_of_a_large_tensor_takes_no_memory() -> None:
    large = Leaf(
        Path("x"),
        "tensor",
        "Tensor",
        (1 << 20, 1 << 20),
        (1 << 20, 1 << 20),
        (1 << 20, 1),
        "float32",
        "cpu",
    )
    signature = inspect.Signature([inspect.Parameter("x", inspect.Parameter.KEYWORD_ONLY)])
    assert build_fast_guard(signature, Contract((large,))) is not None
