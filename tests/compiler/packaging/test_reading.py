"""Requests, inputs, declared dimensions and contracts: everything before the compiler runs."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor
from torch.export import Dim

import workbench as wb
from tests.compiler.packaging import samples
from workbench.compiler.packaging.contracts import ExportedContract, build_contract
from workbench.compiler.packaging.exporting import check_exportable, export
from workbench.compiler.packaging.package_request import ModelRequest, read_requests

PLAIN: dict[str, Any] = {
    "dynamic_shapes": None,
    "options": None,
    "mode": None,
    "weights": "inside",
}


def contract(model: Any, *args: Any, **options: Any) -> ExportedContract:
    found = check_exportable(ModelRequest(model, args, **options))
    return build_contract(export(found).program, found.inputs, found.declared)


def texts(found: ExportedContract) -> list[str]:
    return [f"{leaf.path}: {leaf.text}" for leaf in found.contract.leaves or ()]


def test_one_request_for_each_model_of_a_mapping() -> None:
    f, g = torch.relu, torch.sigmoid
    first, second = read_requests(
        {"f": f, "g": g},
        {"f": (1,), "g": (2,)},
        {"g": {"k": 3}},
        **{**PLAIN, "mode": {"g": "max-autotune"}, "options": {"max_autotune": True}},
    )
    assert (first.name, first.args, first.kwargs, first.mode) == ("f", (1,), {}, None)
    assert (second.args, second.kwargs, second.mode) == ((2,), {"k": 3}, "max-autotune")
    assert first.options == second.options == {"max_autotune": True}


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"model": {}}, "model is an empty mapping"),
        ({"args": (1,)}, "args must be a mapping by model name"),
        ({"args": {"f": (1,)}}, "args has no entry for 'g'"),
        ({"args": {"f": (), "g": (), "h": ()}}, "args names 'h'; the models are f, g"),
        ({"model": {"a/b": abs}, "args": {"a/b": ()}}, "cannot be a folder name"),
        ({"weights": "outside"}, "weights is 'outside': expected one of 'inside', 'beside'"),
        ({"mode": "fast"}, "mode is 'fast': expected one of None, 'default'"),
        ({"args": {"f": 1, "g": 2}}, "args is a int: expected a tuple"),
    ],
)
def test_a_request_that_cannot_be(change: dict[str, Any], words: str) -> None:
    whole = {"model": {"f": abs, "g": abs}, "args": {"f": (), "g": ()}, "kwargs": None, **PLAIN}
    whole.update(change)
    model, args, kwargs = (whole.pop(name) for name in ("model", "args", "kwargs"))
    with pytest.raises(wb.UsageError, match=words):
        read_requests(model, args, kwargs, **whole)


def test_shared_and_derived_dims_keep_their_names() -> None:
    batch = Dim("batch", min=2, max=32)
    spec = {"x": {0: batch}, "y": ({0: batch}, {0: 2 * batch + 1})}

    def f(x: Tensor, y: tuple[Tensor, Tensor]) -> tuple[Tensor, Tensor]:
        return x + y[0], y[1] * 2

    args = (torch.randn(4, 3), (torch.randn(4, 3), torch.randn(9)))
    found = contract(f, *args, dynamic_shapes=spec)
    assert texts(found) == [
        "x: float32 [batch in 2..32, 3] on cpu",
        "y[0]: float32 [batch in 2..32, 3] on cpu",
        "y[1]: float32 [2*batch+1 in 5..65] on cpu",
    ]
    assert found.guards == ()
    assert found.ranges == {"batch": (2, 32)}


def test_what_export_finds_out_is_in_the_contract() -> None:
    spec = {"x": {0: Dim.AUTO, 1: Dim.AUTO}, "y": {0: Dim.AUTO}}

    def f(x: Tensor, y: Tensor) -> Tensor:
        assert x.shape[0] % 3 == 0
        return (x @ torch.ones(5, 2))[:, 0] + y

    found = contract(f, torch.randn(6, 5), torch.randn(6), dynamic_shapes=spec)
    assert texts(found) == [
        "x: float32 [x_0 in 2.., 5] on cpu",  # the second dimension is fixed by the product
        "y: float32 [x_0 in 2..] on cpu",
    ]
    assert found.guards == ("x_0 % 3 == 0",)


def test_a_size_that_the_code_fixes_is_no_condition_of_its_own() -> None:
    def f(x: Tensor, y: Tensor) -> Tensor:
        return (x @ y.T).sum(1)

    both = {0: Dim.AUTO, 1: Dim.AUTO}
    spec = {"x": both, "y": {0: Dim.AUTO}}
    found = contract(f, torch.randn(6, 4), torch.randn(5, 4), dynamic_shapes=spec)
    assert texts(found)[0] == "x: float32 [x_0 in 2.., 4] on cpu"
    assert (found.guards, found.unsaid) == ((), ())


def test_nested_inputs_defaults_and_constants_are_leaves_in_torchs_order() -> None:
    batch = samples.Batch(torch.randn(4, 8), torch.rand(4, 8))
    request = ModelRequest(
        samples.Nested().eval(), (batch, {"pair": (3, torch.randn(8))}), {"flag": True}
    )
    found = check_exportable(request)
    assert [str(path) for path, _ in found.inputs.leaves] == [
        "batch.ids",
        "batch.mask",
        "extra['pair'][0]",
        "extra['pair'][1]",
        "flag",
    ]
    assert found.inputs.parameters == (("batch", 1, None), ("extra", 1, None), ("flag", 3, "False"))


def test_the_rest_of_the_arguments_has_paths_too() -> None:
    def f(x: Tensor, *rest: Tensor, **named: Tensor) -> Tensor:
        return x

    args = (torch.ones(1), torch.ones(2), torch.ones(3))
    found = check_exportable(ModelRequest(f, args, {"z": torch.ones(4)}))
    assert [str(path) for path, _ in found.inputs.leaves] == ["x", "rest[0]", "rest[1]", "z"]


def test_inputs_that_are_left_out_of_dynamic_shapes_are_static() -> None:
    spec = {"y": {0: Dim("n", min=2)}}
    found = contract(lambda x, y: (x, y + 1), torch.ones(3), torch.ones(3), dynamic_shapes=spec)
    assert texts(found)[0] == "x: float32 [3] on cpu"


def test_a_size_of_one_is_proven_where_torch_can() -> None:
    spec = {"x": {0: Dim("n", min=1, max=9)}}
    for model, proven in ((samples.Mlp().eval(), True), (samples.OneIsSpecial(), False)):
        width = 16 if proven else 4
        request = ModelRequest(model, (torch.randn(3, width),), dynamic_shapes=spec)
        assert export(check_exportable(request)).any_size is proven


def test_a_python_number_cannot_be_dynamic_and_a_text_cannot_come_back() -> None:
    from workbench.compiler.packaging.contracts import build_outputs

    def f(x: Tensor, n: int) -> Tensor:
        return x * n

    spec = {"x": None, "n": Dim.DYNAMIC}
    with pytest.raises(wb.UsageError, match="n is a Python int declared dynamic"):
        check_exportable(ModelRequest(f, (torch.ones(3), 5), dynamic_shapes=spec))

    def g(x: Tensor) -> dict[str, Any]:
        return {"x": x + 1, "label": "cat"}

    program = export(check_exportable(ModelRequest(g, (torch.ones(3),)))).program
    with pytest.raises(wb.CaptureError, match=r"the output\['label'\] is the str 'cat'"):
        build_outputs(program)


def test_a_function_keeps_its_signature_and_its_lines() -> None:
    def f(x: Tensor, *, scale: float = 2.0) -> Tensor:
        return x * scale

    found = check_exportable(ModelRequest(f, (torch.ones(3),)))
    assert found.inputs.parameters == (("x", 1, None), ("scale", 3, "2.0"))
    traces = [node.stack_trace for node in export(found).program.graph.nodes]
    (trace,) = [trace for trace in traces if trace]
    assert "return x * scale" in trace
