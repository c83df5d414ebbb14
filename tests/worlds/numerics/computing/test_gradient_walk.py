"""The backward of a training step: clean, and with a fault in each of its stages."""

from __future__ import annotations

import numerics_cases as cases
import pytest
import torch
import torch.nn.functional as F

import workbench as wb
from workbench.worlds.numerics.findings import causes

aten = torch.ops.aten
GELU_BACKWARD = aten.gelu_backward.default
ROUNDING = {causes.ELSEWHERE, causes.REDUCTION, causes.FUNCTION, causes.ROUNDING}


def learn(x, w):
    y = x @ w
    return (F.gelu(y) * y + F.layer_norm(y, (128,))).softmax(-1)


def wrong_gelu_backward(grad, x, approximate="none"):
    inner = 0.5 * (1 + torch.erf(x * 0.7071067811865476))
    return grad * (inner + x * torch.exp(-0.5 * x * x) * 0.3999422804014327)  # 0.39894...


def draw_learning(*shape: int, seed: int = 0, scale: float = 1.0) -> torch.Tensor:
    return (cases.draw(*shape, seed=seed) * scale).requires_grad_()


X, W = draw_learning(64, 256), draw_learning(256, 128, seed=1, scale=1 / 16)


def look(function, *args, **options):
    return wb.numerics(wb.aot_compile(function, args, **options), args)


@pytest.fixture(scope="module")
def clean():
    return look(learn, X, W)


def test_a_clean_step_has_nothing_beyond_rounding(clean) -> None:
    assert clean.first is None
    assert {row.cause for row in clean.deviations} <= ROUNDING
    assert not clean.not_compared
    by_part = {row.part: row for row in clean.deviations if row.stage == "decompositions"}
    assert {"gradient of softmax", "gradient of gelu", "gradient of layer_norm"} <= {*by_part}
    assert by_part["gradient of gelu"].line == learn.__code__.co_firstlineno + 2
    assert {"i0", "i1"} == {k.graph for k in clean.report.kernels}
    written = {row.kernel for row in clean.deviations}
    assert {k.id for k in clean.report.kernels if k.graph == "i1" and k.is_generated} <= written


def test_gradients_are_outputs_beside_float64_and_noise(clean) -> None:
    by_name = {row.output: row for row in clean.outputs}
    assert [*by_name] == ["output", "gradient of x", "gradient of w"]
    row = by_name["gradient of w"]
    assert row.elements == W.numel()
    assert 0 < row.own_off < 2 * row.noise
    stages = clean.frame("stages").set_index("stage")
    assert stages.end_off["kernels"] < 2 * stages.end_off["eager"]
    assert X.grad is None


def test_a_wrong_decomposition_in_a_backward_is_named() -> None:
    with cases.changed_decomposition(GELU_BACKWARD, wrong_gelu_backward):
        found = look(learn, X, W)
    row = found.first
    assert (row.stage, row.part, row.cause) == (
        "decompositions",
        "gradient of gelu",
        causes.FORMULA,
    )
    assert row.line == learn.__code__.co_firstlineno + 2
    assert row.own_off > 100 * row.eager_off
    assert {r.cause for r in found.deviations if r is not row} <= ROUNDING
    assert "The decomposition of the gradient of gelu changed the formula" in found.sentence
    assert found.sentence.startswith("Farther from float64 than eager")


def test_a_wrong_pass_over_the_backward_is_named() -> None:
    def wrong(graph):
        for node in graph.nodes:
            if node.target is torch.ops.aten.mul.Tensor and node.args[1] == -0.5:
                node.args = (node.args[0], -0.5001)

    found = look(learn, X, W, options={"post_grad_custom_post_pass": wrong})
    assert found.first.part == "post-grad pass wrong of the backward"
    assert found.first.cause == causes.FORMULA
    assert {r.cause for r in found.deviations if r.kernel} <= ROUNDING


def test_a_wrong_kernel_of_the_backward_is_named_and_stands_alone(tmp_path) -> None:
    with cases.changed_kernels("static_cast<float>(-0.5)", "static_cast<float>(-0.25)"):
        found = look(learn, X, W)
    row = found.first
    assert row.cause == causes.SOMETHING_ELSE
    kernel = next(k for k in found.report.kernels if k.id == row.kernel)
    assert (kernel.graph, kernel.is_generated) == ("i1", True)
    names = [n.name for n in found.subgraph(row.kernel, row.node).graph.nodes]
    assert row.node in names
    found.repro(row.kernel, tmp_path / "repro.py")
    assert "gelu_backward" in (tmp_path / "repro.py").read_text()


def test_an_input_that_is_used_twice_has_a_gradient_for_each_use() -> None:
    def square(x, frozen):
        return (x * x * frozen).sum()

    x, frozen = draw_learning(32, 8), cases.draw(32, 8, seed=1)
    found = look(square, x, frozen)
    assert found.first is None
    assert [row.output for row in found.outputs] == ["output", "gradient of x"]
    assert not found.not_compared


def test_a_table_that_is_filled_and_then_added_to_is_compared_when_it_is_whole() -> None:
    class Tied(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.model = cases.Decoder(1, width=32, heads=2, vocabulary=50)

        def forward(self, ids):
            return F.cross_entropy(self.model(ids)[0, :-1], ids[0, 1:])

    ids = torch.randint(50, (1, 16), generator=torch.Generator().manual_seed(0))
    found = look(Tied(), ids)
    assert found.first is None
    assert "gradient of model.tokens.weight" in {row.output for row in found.outputs}
    assert not found.not_compared


class Parts(torch.nn.Module):
    """One operator after another that gives several values, of which one or more are used."""

    def forward(self, x, w, b):
        first, second = x.split(16, -1)
        third, _ = (first.sin() * second.exp()).chunk(2, -1)
        normed, mean, _ = torch.native_layer_norm(third, (8,), w, b, 1e-5)
        spread, middle = torch.var_mean(normed * 2 + mean, -1, keepdim=True)
        values, places = (normed * spread + middle).max(0)
        largest, _ = (values * places).topk(4)
        one, other = largest.view(2, 2).unbind(0)
        return one.sin() * other


PARTS = ("split", "chunk", "native_layer_norm", "var_mean", "max_1", "topk", "unbind")


@pytest.fixture(scope="module")
def parts_args():
    x, w, b = (cases.draw(*shape, seed=seed) for seed, shape in enumerate(((4, 32), (8,), (8,))))
    return tuple(each.requires_grad_() for each in (x, w, b))


@pytest.fixture(scope="module")
def clean_parts(parts_args):
    return look(Parts(), *parts_args)


def test_the_gradients_of_operators_with_several_outputs_are_checked(clean_parts) -> None:
    assert clean_parts.not_compared == ()
    assert clean_parts.first is None
    assert not [row for row in clean_parts.deviations if row.cause in causes.NO_ROUNDING]
    captured = {node.name for node in clean_parts.program.stages.captured.graph.nodes}
    assert {*PARTS} <= captured


def test_parts_of_one_operator_are_those_of_what_it_became(clean_parts) -> None:
    pairs, groups = clean_parts.program.stages.aten_pairs, clean_parts.program.stages.groups
    nodes = clean_parts.program.stages.captured.nodes
    (normed,) = (
        name
        for name, node in nodes.items()
        if node.args
        and getattr(node.args[0], "name", "") == "native_layer_norm"
        and node.args[1] == 0
    )
    assert pairs[normed] == groups["native_layer_norm"][-1]  # and no part of var_mean in it


def wrong_mean_backward(grad, x, norm_size, mean, rstd, w, b, mask):
    normed = (x - mean) * rstd
    back = grad * w
    inner = (
        back - back.mean(-1, keepdim=True) - 1.001 * normed * (back * normed).mean(-1, keepdim=True)
    )
    return inner * rstd, (grad * normed).sum(0), grad.sum(0)


def test_a_wrong_gradient_of_several_outputs_is_named(parts_args) -> None:
    operator = aten.native_layer_norm_backward.default
    with cases.changed_decomposition(operator, wrong_mean_backward):
        found = look(Parts(), *parts_args)
    assert found.first.part == "gradient of native_layer_norm"
    assert found.first.cause == causes.FORMULA


def test_a_wrong_gradient_of_one_of_two_parts_is_named() -> None:
    def halves(x):
        a, b = x.split(8, -1)
        return (a * 2).tanh() * b.exp()

    def wrong(graph):
        for node in graph.nodes:
            if node.target is aten.cat.default:
                node.args = ([node.args[0][0], node.args[0][0]], *node.args[1:])

    x = cases.draw(4, 16).requires_grad_()
    assert look(halves, x).first is None
    found = look(halves, x, options={"joint_custom_pre_pass": wrong})
    assert found.first.cause == causes.FORMULA


def dropped(x):
    return F.dropout(x.sin() * 3, 0.3).cos()


def test_the_gradient_of_a_dropout_is_checked_by_the_mask_that_was_drawn() -> None:
    x = cases.draw(64, 32).requires_grad_()
    found = look(dropped, x)
    assert found.not_compared == ()
    rows = {row.part: row.cause for row in found.deviations}
    assert "gradient of dropout" not in rows
    assert rows["dropout"] == causes.RANDOM

    def wrong_backward(grad, mask, scale):
        return grad * (mask.type_as(grad) * (scale * 1.001))

    operator = aten.native_dropout_backward.default
    with cases.changed_decomposition(operator, wrong_backward):
        found = look(dropped, x, options={"fallback_random": True})
    assert [row.part for row in found.deviations if row.cause == causes.FORMULA] == [
        "gradient of dropout"
    ]


@pytest.mark.parametrize(
    ("function", "name"),
    [
        (lambda x: F.rrelu(x, training=True).sin(), "rrelu"),
        (lambda x: F.alpha_dropout(x.sin(), 0.3, training=True).cos(), "alpha_dropout"),
    ],
)
def test_what_draws_other_numbers_has_no_gradient_check_and_no_false_one(function, name) -> None:
    found = look(function, cases.draw(16, 8).requires_grad_())
    assert found.not_compared == (
        f"the gradient of {name}: it draws random numbers for something other than a mask",
    )
    assert causes.FORMULA not in {row.cause for row in found.deviations}
