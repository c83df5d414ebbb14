"""Declared dimensions behave as declared: at min, at max, one below, one above."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.export import Dim

import workbench as wb
from tests.older_releases import since

compile_eager = functools.partial(wb.aot_compile, backend="eager")


def total(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    return a.sum(0) + b.sum(0)


def ones(n: int) -> torch.Tensor:
    return torch.ones(n, 8)


def fits(compiled: Any, *sizes: int) -> bool:
    try:
        got = compiled(*map(ones, sizes))
    except wb.ContractError:
        return False
    torch.testing.assert_close(got, torch.full((8,), float(sum(sizes))))
    return True


BATCH = Dim("batch", min=3, max=16)


@pytest.mark.parametrize("backend", ["eager", "inductor"])
@pytest.mark.parametrize(
    ("spec", "example", "inside", "outside"),
    [
        (
            {"a": {0: BATCH}, "b": {0: BATCH}},
            (4, 4),
            [(3, 3), (16, 16)],
            [(2, 2), (17, 17)],
        ),
        ({"a": {0: BATCH}, "b": {0: BATCH}}, (4, 4), [(9, 9)], [(8, 5)]),
        (({0: BATCH}, {0: 2 * BATCH}), (4, 8), [(3, 6), (16, 32)], [(2, 4), (17, 34), (4, 9)]),
        (({0: BATCH}, {0: BATCH + 1}), (4, 5), [(3, 4), (16, 17)], [(2, 3), (17, 18), (4, 4)]),
        (({0: BATCH}, None), (4, 4), [(3, 4), (16, 4)], [(2, 4), (17, 4), (4, 5)]),
        (((BATCH, None), (Dim("rows", max=9), 8)), (4, 5), [(3, 1), (16, 9)], [(4, 10), (2, 1)]),
        (({0: Dim.AUTO}, {0: Dim.STATIC}), (4, 4), [(2, 4), (99, 4)], [(4, 5)]),
        (({0: Dim.DYNAMIC}, {0: 4}), (4, 4), [(2, 4), (99, 4)], [(4, 5)]),
    ],
    ids=["range", "shared", "double", "next", "one", "tuples", "auto", "dynamic"],
)
def test_a_declared_range(backend: str, spec: Any, example: Any, inside: Any, outside: Any) -> None:
    compiled = wb.aot_compile(
        total, tuple(map(ones, example)), dynamic_shapes=spec, backend=backend
    )
    assert [fits(compiled, *sizes) for sizes in inside] == [True] * len(inside)
    assert [fits(compiled, *sizes) for sizes in outside] == [False] * len(outside)


def test_nested_inputs() -> None:
    compiled = compile_eager(
        lambda d: total(d["x"], d["l"][0]),
        ({"x": ones(4), "l": [ones(4)]},),
        dynamic_shapes={"d": {"x": {0: BATCH}, "l": [{0: BATCH}]}},
    )
    torch.testing.assert_close(compiled({"x": ones(9), "l": [ones(9)]}), torch.full((8,), 18.0))
    with pytest.raises(wb.ContractError, match="makes batch 5, but"):
        compiled({"x": ones(9), "l": [ones(5)]})


@pytest.mark.parametrize(
    "rows",
    [
        Dim("n"),
        pytest.param(Dim("n", min=1), marks=pytest.mark.slow),
        pytest.param(Dim("n", min=1, max=64), marks=pytest.mark.slow),
    ],
)
def test_sizes_of_0_and_1_are_taken_where_they_are_declared(rows: Any, tmp_path: Path) -> None:
    spec = ({0: rows}, None)
    compiled = wb.aot_compile(total, (ones(4), ones(4)), dynamic_shapes=spec)
    package = wb.package(
        total, (ones(4), ones(4)), path=tmp_path / "total.pt2", dynamic_shapes=spec
    )
    sizes = (0, 1, 2, 64)
    assert [fits(compiled, n, 4) for n in sizes] == [rows.min == 0, True, True, True]
    assert [fits(package, n, 4) for n in sizes] == [rows.min == 0, True, True, True]
    assert compiled.report.request.notes == package.report.request.notes == ()


def without_one(x: torch.Tensor) -> torch.Tensor:
    return x - 1 if x.shape[0] == 1 else x * 2


RAISED = "n starts at 2, higher than declared: torch specializes sizes 0 and 1"


@pytest.mark.slow
@pytest.mark.parametrize("rows", [Dim("n"), pytest.param(Dim("n", max=64), marks=pytest.mark.slow)])
def test_where_the_code_is_another_for_1_it_is_said_that_nobody_declared_2(
    rows: Any, tmp_path: Path
) -> None:
    spec = {"x": {0: rows}}
    compiled = wb.aot_compile(without_one, (ones(4),), dynamic_shapes=spec)
    with pytest.warns(UserWarning, match=RAISED):
        package = wb.package(without_one, (ones(4),), path=tmp_path / "p.pt2", dynamic_shapes=spec)
    torch.testing.assert_close(compiled(ones(5)), package(ones(5)))
    # without a maximum the condition itself is a guard
    outside = rf"dimension 0 is 1, outside n in 2\.\.\d*: {RAISED}"
    guarded = r"!= 1, which is not so" if rows.max is None or rows.max > 64 else outside
    with pytest.raises(wb.ContractError, match=guarded):
        compiled(ones(1))
    with pytest.raises(wb.ContractError, match=outside):
        package(ones(1))
    assert RAISED in package.notes[0]
    assert any(RAISED in note for note in compiled.report.request.notes) is (guarded == outside)


@pytest.mark.slow
@pytest.mark.parametrize("kind", [Dim.AUTO, pytest.param(Dim.DYNAMIC, marks=pytest.mark.slow)])
def test_the_bounds_of_a_hint_hold(kind: Any, tmp_path: Path) -> None:
    spec = ({0: kind(min=2, max=8)}, None)
    args = (ones(4), ones(4))
    for made in (
        compile_eager(total, args, dynamic_shapes=spec),
        wb.package(total, args, path=tmp_path / "p.pt2", dynamic_shapes=spec),
    ):
        assert [fits(made, n, 4) for n in (2, 8, 9)] == [True, True, False]
        with pytest.raises(wb.ContractError, match=r"outside the declared a_0 in 2\.\.8"):
            made(ones(9), ones(4))


def scaled(a: torch.Tensor, by: dict[str, int], n: int = 1) -> torch.Tensor:
    return a * by["k"] + torch.arange(n * 8).view(n, 8).sum(0)


@pytest.mark.parametrize("kind", [pytest.param(Dim.AUTO, marks=pytest.mark.slow), Dim.DYNAMIC])
def test_ints_that_vary(kind: Any, tmp_path: Path) -> None:
    spec = {"a": None, "by": {"k": kind(min=0, max=9)}, "n": kind}
    compiled = compile_eager(scaled, (ones(4), {"k": 3}, 2), dynamic_shapes=spec)
    for k, n in ((3, 2), (9, 5), (0, 3)):
        torch.testing.assert_close(compiled(ones(4), {"k": k}, n), scaled(ones(4), {"k": k}, n))
    with pytest.raises(wb.ContractError, match=r"by\['k'\] is 10, outside the declared by_k in 0"):
        compiled(ones(4), {"k": 10}, 2)
    # torch's own guard, which stands for what was not declared: eager refuses fewer than none
    with pytest.raises(wb.ContractError, match=r"expected int, 0\.\., got bool True"):
        compiled(ones(4), {"k": 3}, True)
    with pytest.raises(wb.ContractError, match=r"n is -1, outside"):
        compiled(ones(4), {"k": 3}, -1)
    compiled.save(tmp_path / "f.aot")
    again = wb.recompile(tmp_path / "f.aot", scaled)
    torch.testing.assert_close(again(ones(4), {"k": 5}, 6), scaled(ones(4), {"k": 5}, 6))
    with pytest.raises(wb.UsageError, match="n is a Python int declared dynamic"):
        wb.package(
            scaled,
            (ones(4), {"k": 3}, 2),
            path=tmp_path / "p.pt2",
            dynamic_shapes={"a": None, "by": {"k": None}, "n": kind},
        )


def test_a_module_declares_by_the_names_of_forward() -> None:
    module = torch.nn.Linear(8, 2)
    compiled = compile_eager(module, (ones(4),), dynamic_shapes={"input": {0: BATCH}})
    assert compiled(ones(7)).shape == (7, 2)


class Decorated(torch.nn.Module):
    @staticmethod
    def _logged(function: Any) -> Any:
        @functools.wraps(function)
        def run(self: Any, *args: Any, **kwargs: Any) -> Any:
            return function(self, *args, **kwargs)

        return run

    @_logged
    def forward(self, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        return total(a, b)


def test_a_decorated_module_declares_by_the_names_inside() -> None:
    spec = {"a": {0: BATCH}, "b": {0: Dim("rows", max=9)}}
    compiled = compile_eager(Decorated(), (ones(4),), {"b": ones(5)}, dynamic_shapes=spec)
    torch.testing.assert_close(compiled(ones(16), b=ones(9)), torch.full((8,), 25.0))
    with pytest.raises(wb.ContractError, match=r"batch in 3\.\.16"):
        compiled(ones(17), b=ones(9))
    with pytest.raises(wb.UsageError, match="names 'c'; the inputs are"):
        compile_eager(Decorated(), (ones(4),), {"b": ones(5)}, dynamic_shapes={"c": {0: BATCH}})


def test_the_callers_tensors_carry_no_mark_afterwards() -> None:
    a, b = ones(4), ones(4)
    b.note = "mine"  # type: ignore[attr-defined]
    compile_eager(total, (a, b), dynamic_shapes=({0: BATCH}, {0: Dim.AUTO}))
    assert a.__dict__ == {}
    assert b.__dict__ == {"note": "mine"}


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ({"z": {0: BATCH}}, "dynamic_shapes names 'z'; the inputs are a, b"),
        (({5: BATCH}, None), "names dimension 5 of a, which has 2"),
        (({0: Dim("n", min=5)}, None), "outside n in 5"),
        (({0: 7}, None), "fixes dimension 0 of a to 7; the example has 4"),
        (({0: "n"}, None), "expected a Dim"),
        ((None, None, None), "has 3 entries for 2 inputs"),
        (({0: BATCH}, {1: BATCH}), "must agree on a shared dimension"),
        ((Dim.DYNAMIC, None), "for a, a Tensor: expected a dict or a tuple, with a Dim for each"),
        (({0: Dim.AUTO(min=5)}, None), r"dimension 0 of a is 4 in the example, outside a_0 in 5"),
    ],
)
def test_a_specification_that_does_not_fit(spec: Any, words: str) -> None:
    with pytest.raises(wb.UsageError, match=words):
        compile_eager(total, (ones(4), ones(4)), dynamic_shapes=spec)


@pytest.mark.parametrize(
    ("entry", "words"),
    [
        (Dim("k"), "the int 3, but a Dim is for tensor dimensions. For an int pass Dim.DYNAMIC"),
        (Dim.DYNAMIC(min=5), r"by\['k'\] is 3 in the example, outside by_k in 5"),
    ],
)
def test_a_declaration_that_does_not_fit_an_int(entry: Any, words: str, tmp_path: Path) -> None:
    args, spec = (ones(4), {"k": 3}, 2), {"a": None, "by": {"k": entry}, "n": None}
    with pytest.raises(wb.UsageError, match=words):
        compile_eager(scaled, args, dynamic_shapes=spec)
    with pytest.raises(wb.UsageError, match=words):
        wb.package(scaled, args, path=tmp_path / "p.pt2", dynamic_shapes=spec)


def test_an_example_of_size_one_cannot_be_dynamic() -> None:
    with pytest.raises(wb.UsageError, match="torch specializes sizes 0 and 1"):
        compile_eager(total, (ones(1), ones(4)), dynamic_shapes=({0: Dim("n")}, None))


@since("2.12", "the code of a convolution is for some batches")
@pytest.mark.parametrize(
    "memory_format",
    [pytest.param(torch.contiguous_format, marks=pytest.mark.slow), torch.channels_last],
)
def test_a_batch_of_images_has_any_declared_size(memory_format: torch.memory_format) -> None:
    torch.manual_seed(0)
    layers = [torch.nn.Conv2d(3, 8, 3), torch.nn.BatchNorm2d(8), torch.nn.AdaptiveAvgPool2d(1)]
    model = torch.nn.Sequential(*layers, torch.nn.Flatten(), torch.nn.Linear(8, 2)).eval()

    def images(batch: int) -> torch.Tensor:
        return torch.randn(batch, 3, 10, 10).to(memory_format=memory_format).requires_grad_()

    compiled = wb.aot_compile(model, (images(4),), dynamic_shapes=({0: Dim("b", min=2, max=70)},))
    for batch in (2, 15, 16, 70):  # 64 images have 4,096 places: torch adds more in cascades
        image = images(batch)
        results = []
        for run in (compiled, model):
            output = run(image)
            image.grad = None
            model.zero_grad()
            output.square().sum().backward()
            results.append((output.detach(), image.grad, *(p.grad for p in model.parameters())))
        torch.testing.assert_close(*results, rtol=1e-4, atol=1e-4)
    with pytest.raises(wb.ContractError, match="70"):
        compiled(images(71))
    assert not hasattr(torch._C._select_conv_backend, "__wrapped__")
