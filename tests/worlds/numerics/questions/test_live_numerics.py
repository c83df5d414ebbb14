from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import numerics_cases as cases
import pytest
import torch
from torch.utils.checkpoint import checkpoint

import workbench as wb
from tests.wrong_programs import WRONG, written_input
from workbench.report import Report
from workbench.tasks.background_task import Cancelled, Steps
from workbench.worlds.numerics.computing import findings
from workbench.worlds.numerics.findings import causes
from workbench.worlds.numerics.findings.numerics_record import read_numerics
from workbench.worlds.numerics.questions.live_numerics import look_at_numbers

DROPPED = next(one for one in WRONG if one.name == "dropped write to an input")
ADD = torch.ops.aten.add.Tensor


@pytest.fixture(scope="module")
def chain():
    """A chain in bfloat16: fusion holds values in float32 that eager rounds."""
    x, w = cases.draw(64, 256, dtype=cases.BF), cases.draw(256, dtype=cases.BF, seed=1)
    return cases.look(cases.softmax_chain, x, w)


def test_casts_that_fusion_elides_are_found_and_nearer_to_the_truth(chain) -> None:
    row = chain.find("k0", "mul_2")
    assert (row.cause, row.option) == (causes.ELIDED, causes.EMULATE)
    assert {"mul", "sin", "add"} <= {*row.never_rounded}
    assert row.own_off < row.eager_off
    assert row.differ > 0.5
    assert row.file == "tests/numerics_cases.py" or row.file.endswith("numerics_cases.py")
    assert chain.first is None
    assert chain.sentence.startswith("Nearer to float64 than eager (")
    assert "k0 keeps 6 values in float32 that eager rounds" in chain.sentence
    assert repr(chain).startswith("Numerics(softmax_chain, ")
    assert repr(chain).endswith("none beyond rounding)")


def test_an_input_that_the_call_writes_is_looked_at_too() -> None:
    x = torch.rand(4, 8)
    right = cases.look(written_input, x)
    assert [row.output for row in right.outputs] == ["output", "x after the call"]
    assert [row.own_off for row in right.outputs] == [row.eager_off for row in right.outputs]
    wrong = cases.look(written_input, x, options={"post_grad_custom_post_pass": DROPPED.fault})
    assert wrong.sentence.startswith("Farther from float64 than eager in x after the call (")
    assert [row.differ for row in wrong.outputs] == [0.0, 1.0]


def _clamp(x: torch.Tensor) -> torch.Tensor:
    torch.nn.functional.hardtanh(x, -0.1, 0.1, True)
    return x.exp()


def _norm(x: torch.Tensor, mean: torch.Tensor, variance: torch.Tensor) -> torch.Tensor:
    return torch.nn.functional.batch_norm(x, mean, variance, training=True)


def _multiply_into(x: torch.Tensor, product: torch.Tensor) -> torch.Tensor:
    torch.mul(x, 2, out=product)
    return x + 1


def _raise_in_place(x: torch.Tensor) -> torch.Tensor:
    x **= 2
    return x + 0


@pytest.mark.parametrize(
    ("function", "sizes", "written"),
    [
        (_multiply_into, [(4,), (4,)], ["product"]),
        (_norm, [(8, 4), (4,), (4,)], ["mean", "variance"]),
        (_clamp, [(8,)], ["x"]),
        (_raise_in_place, [(8,)], ["x"]),
    ],
)
def test_a_write_that_an_argument_asks_for_is_seen(
    function: Any, sizes: list[tuple[int, ...]], written: list[str]
) -> None:
    inputs = [cases.draw(*size, seed=place).abs() + 0.5 for place, size in enumerate(sizes)]
    wrong = cases.look(function, *inputs, options={"post_grad_custom_post_pass": DROPPED.fault})
    lost = [row.output for row in wrong.outputs if (row.own_off or 0.0) > 1e5]
    assert lost == [f"{name} after the call" for name in written]
    assert wrong.sentence.startswith("Farther from float64 than eager in ")


def test_a_row_has_how_many_elements_are_how_far_away(chain) -> None:
    row = chain.find("k0", "mul_2")
    counts = chain.histogram("k0", "mul_2")
    assert sum(counts.values()) == row.elements == 64 * 256
    assert counts["0"] == round((1 - row.differ) * row.elements)
    exact = chain.histogram("k0", "mul_2", against="float64")
    assert exact["0"] > counts["0"]
    with pytest.raises(
        wb.UsageError, match=r"k9 does not differ from eager. Values that do: .*k0 mul_2"
    ):
        chain.histogram("k9")
    with pytest.raises(wb.UsageError, match="expected 'eager' or 'float64'"):
        chain.histogram("k0", against="double")


def test_the_record_keeps_what_was_found(chain, tmp_path) -> None:
    chain.report.save(tmp_path / "f.wbr")
    again = read_numerics(Report.load(tmp_path / "f.wbr"))
    assert again.sentence == chain.sentence
    assert again.first == chain.first
    assert again.deviations == chain.deviations
    assert list(again.frame("stages").stage) == ["eager", "decompositions", "passes", "kernels"]
    assert list(again.frame("outputs").output) == ["output"]
    assert read_numerics(Report()) is None
    with pytest.raises(wb.UsageError, match=r"no table .* It has: deviations, stages, outputs"):
        again.frame("kernels")


def test_layernorm_of_a_large_mean_rounds_elsewhere() -> None:
    found = cases.look(cases.layernorm, cases.draw(64, 256) + 3000)
    row = found.find("layer_norm")
    assert (row.stage, row.cause) == ("decompositions", causes.ELSEWHERE)
    assert row.eager_off > 100
    assert row.own_off < row.eager_off
    assert found.first is None
    assert row.verdict == "below the noise"  # of one unit in the last place of 3000


def test_a_decomposition_with_a_wrong_digit_changes_the_formula() -> None:
    with cases.changed_decomposition(torch.ops.aten.gelu.default, cases.wrong_gelu):
        found = cases.look(cases.gelu, cases.draw(64, 256))
    row = found.first
    assert (row.stage, row.part, row.cause) == ("decompositions", "gelu", causes.FORMULA)
    assert row.line == cases.gelu.__code__.co_firstlineno + 1
    assert all(r.own_off < 4 for r in found.deviations if r.kernel)  # the kernel is clean
    assert "The decomposition of gelu changed the formula at " in found.sentence
    assert found.sentence.startswith("Farther from float64 than eager")


def test_a_sum_over_many_rows_is_one_of_another_order() -> None:
    found = cases.look(cases.column_sum, cases.draw(100_000, 64, dtype=cases.H))
    (row,) = found.deviations
    assert (row.kernel, row.node, row.cause) == ("k0", "sum_1", causes.REDUCTION)
    assert row.own_off < 8
    assert found.first is None


def test_a_wrong_kernel_is_named() -> None:
    with cases.changed_kernels("static_cast<float>(1.5)", "static_cast<float>(1.25)"):
        found = cases.look(cases.pointwise, cases.draw(64, 256), cases.draw(64, 256, seed=1))
    row = found.first
    assert (row.kernel, row.node, row.cause) == ("k0", "sub", causes.SOMETHING_ELSE)
    assert row.own_off > 1e5 > 1 > row.eager_off
    assert "k0 (cpp_fused_" in found.sentence
    assert "computes something else than its nodes at sub (" in found.sentence
    assert [text.partition(" by ")[0] for text in row.lowerings] == [
        "aten.mul.Tensor",
        "aten.add.Tensor",
        "aten.relu.default",
        "aten.sub.Tensor",
    ]
    assert all(" by lowering." in text and "(pointwise)" in text for text in row.lowerings)
    assert "The difference first appears when aten.mul.Tensor, aten.add.Tensor, " in found.sentence


def test_a_wrong_pass_is_named_and_the_kernels_are_clean() -> None:
    def wrong(graph):
        for node in graph.nodes:
            if node.target is ADD:
                node.args = (node.args[0], 1.5001)

    found = cases.look(
        cases.pointwise,
        cases.draw(64, 256),
        cases.draw(64, 256, seed=1),
        options={"post_grad_custom_post_pass": wrong},
    )
    (row,) = found.deviations
    assert (row.stage, row.part, row.node) == ("passes", "post-grad pass wrong", "add")
    assert row.cause == causes.FORMULA
    assert found.first == row
    stages = found.frame("stages").set_index("stage")
    assert stages.deviations.to_dict() == {
        "eager": 0,
        "decompositions": 0,
        "passes": 1,
        "kernels": 0,
    }
    assert stages.end_off["kernels"] == pytest.approx(stages.end_off["passes"])


def test_of_several_passes_the_first_after_which_a_deviation_is_there_is_named() -> None:
    def alter(graph):
        for node in graph.nodes:
            if node.target is ADD:
                node.args = (node.args[0], 2.5)  # what the next one takes back

    def subtract(graph):
        for node in graph.nodes:
            if node.target is ADD:
                node.target, node.args = torch.ops.aten.sub.Tensor, (node.args[0], 1.5)

    def back(graph):
        for node in graph.nodes:
            if node.target is ADD:
                node.args = (node.args[0], 1.5)

    found = cases.look(
        cases.pointwise,
        cases.draw(64, 256),
        cases.draw(64, 256, seed=1),
        options={
            "joint_custom_pre_pass": alter,
            "joint_custom_post_pass": back,
            "post_grad_custom_post_pass": subtract,
        },
    )
    parts = [row.part for row in found.deviations]
    assert parts == ["joint pass alter", "joint pass back", "post-grad pass subtract"]
    assert "The joint pass alter changed the formula at add" in found.sentence


def test_what_is_equal_has_no_rows() -> None:
    found = cases.look(cases.pointwise, cases.draw(64, 256), cases.draw(64, 256, seed=1))
    assert found.deviations == ()
    assert found.sentence == "Bitwise equal to eager."
    assert repr(found) == "Numerics(pointwise, no difference)"
    assert found.compared > 0
    assert not found.not_compared


@pytest.fixture(scope="module")
def decoder():
    model = cases.Decoder(2, width=64, heads=2, vocabulary=100).eval()
    ids = torch.randint(100, (1, 32), generator=torch.Generator().manual_seed(0))
    compiled = wb.aot_compile(model, (ids,), grad=False)
    return compiled, ids


def test_a_clean_decoder_has_nothing_beyond_rounding(decoder) -> None:
    compiled, ids = decoder
    found = wb.numerics(compiled, (ids,))
    assert found.first is None
    assert {row.cause for row in found.deviations} <= {
        causes.ELSEWHERE,
        causes.REDUCTION,
        causes.FUNCTION,
        causes.ROUNDING,
    }
    assert all(row.own_off < 8 for row in found.deviations)
    assert not found.not_compared
    (output,) = found.outputs
    assert (output.rows, output.arg_max, output.top5) == (32, 0, 0)
    assert output.kl < 1e-9
    assert output.noise > 0
    written = {k.id for k in compiled.report.kernels}
    assert {row.kernel for row in found.deviations} - {None} <= written


def test_equal_layers_that_call_one_kernel_are_told_apart(decoder) -> None:
    compiled, ids = decoder
    shared = [k for k in compiled.report.kernels if k.is_generated and k.calls == 2]
    assert shared  # gelu of both layers
    found = wb.numerics(compiled, (ids,))
    # a product is given what the second call left, and is the library's, as eager's
    assert not [row for row in found.deviations if row.part == "extern_kernels.addmm"]


def test_progress_is_told_and_a_cancel_puts_everything_back(decoder) -> None:
    compiled, ids = decoder
    told: list[str] = []
    look_at_numbers(compiled, (ids,), progress=lambda name, _: told.append(name))
    assert told == ["running the program", "decompositions and passes", "kernels", "outputs"]
    before = compiled(ids)
    scope, state = dict(compiled.aot_fn.fn.__globals__), torch.get_rng_state()
    for word in ("decompositions and passes", "kernels"):
        steps = Steps(lambda: None)
        real = steps.__call__

        def stop(name, elapsed, real=real, steps=steps, word=word):
            if name == word:
                steps.stop()
            real(name, elapsed)

        with pytest.raises(Cancelled):
            look_at_numbers(compiled, (ids,), progress=stop)
    assert dict(compiled.aot_fn.fn.__globals__) == scope
    assert torch.equal(torch.get_rng_state(), state)
    assert sys.getprofile() is None
    assert torch.equal(compiled(ids), before)


def test_an_error_in_the_middle_undoes_every_hook(decoder, monkeypatch) -> None:
    compiled, ids = decoder
    scope = dict(compiled.aot_fn.fn.__globals__)

    def fail(*_args, **_kwargs):
        raise KeyboardInterrupt

    monkeypatch.setattr(findings, "walk_stages", fail)
    with pytest.raises(KeyboardInterrupt):
        wb.numerics(compiled, (ids,))
    assert dict(compiled.aot_fn.fn.__globals__) == scope
    assert sys.getprofile() is None
    assert threading.active_count() < 50


def test_what_a_call_writes_to_is_as_before() -> None:
    class Counter(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("count", torch.zeros(4))

        def forward(self, x):
            self.count.add_(x.sum())
            x.mul_(2)
            return x.exp() + self.count

    model, x = Counter().eval(), cases.draw(4)
    compiled = wb.aot_compile(model, (x.clone(),), grad=False)
    model.count.zero_()
    before = x.clone()
    found = wb.numerics(compiled, (x,))
    assert torch.equal(x, before)
    assert torch.equal(model.count, torch.zeros(4))
    assert found.first is None
    assert found.outputs[0].own_off < 4


def test_code_is_the_same_whether_graphs_are_kept_or_not(monkeypatch) -> None:
    from workbench.compiler.recording.stage_graphs import GraphRecorder

    args = (cases.draw(64, 256),)
    kept = wb.aot_compile(cases.gelu, args, grad=False)
    monkeypatch.setattr(GraphRecorder, "_keep_runnable", lambda *_: None)
    without = wb.aot_compile(cases.gelu, args, grad=False)
    monkeypatch.undo()
    assert kept.graphs
    assert not without.graphs
    texts = [[c.report.texts[k.text] for k in c.report.kernels if k.text] for c in (kept, without)]
    assert texts[0] == texts[1]
    found = wb.numerics(without, args)  # compiled once more
    assert "so it was recompiled." in found.sentence
    assert [row.node for row in found.deviations] == [
        row.node for row in wb.numerics(kept, args).deviations
    ]


def test_without_numbers_it_is_said_what_can_be() -> None:
    x, w = cases.draw(64, 256, dtype=cases.BF), cases.draw(256, dtype=cases.BF, seed=1)
    compiled = wb.aot_compile(cases.softmax_chain, (x, w), grad=False)
    with pytest.raises(wb.UsageError, match="Judging by the graphs alone") as caught:
        wb.numerics(compiled, (x.to("meta"), w))
    assert "has no data: pass tensors with values." in str(caught.value)
    assert "k0: order of a reduction" in str(caught.value)
    assert "partly casts elided by fusion, " in str(caught.value)


def test_wrong_inputs_are_refused_in_a_sentence(chain, decoder, tmp_path) -> None:
    compiled, ids = decoder
    with pytest.raises(wb.UsageError, match="has no data"):
        wb.numerics(compiled, (ids.to("meta"),))
    with pytest.raises(wb.ContractError):
        wb.numerics(compiled, (ids[:, :5],))
    with pytest.raises(wb.UsageError, match="a result of aot_compile, package or load"):
        wb.numerics(cases.gelu, (ids,))

    def counted(x):
        x.add_(1)
        return x.shape[0]

    x = cases.draw(4, 4)
    with pytest.raises(wb.UsageError, match="returns no tensor, so there is nothing to compare"):
        wb.numerics(wb.aot_compile(counted, (x,), grad=False), (x,))
    plain = wb.aot_compile(cases.gelu, (x,), grad=False, backend="eager")
    with pytest.raises(wb.UsageError, match="backend='inductor'"):
        wb.numerics(plain, (x,))
    made = wb.aot_compile(cases.gelu, (x,), grad=False)
    made.save(tmp_path / "f.aot")
    with pytest.raises(wb.UsageError, match="loaded from a file"):
        wb.numerics(wb.load(tmp_path / "f.aot"), (x,))


def test_a_graph_with_a_constant_is_looked_at_to_its_kernels() -> None:
    def f(x):
        return torch.softmax(x + torch.tensor([1.0, 2.0, 3.0, 4.0]), -1)

    found = cases.look(f, cases.draw(8, 4))
    assert {row.stage for row in found.stages} == {"eager", "decompositions", "passes", "kernels"}
    assert found.compared > 2
    assert found.not_compared == ()


class Checkpointed(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = torch.nn.Linear(8, 8), torch.nn.Linear(8, 8)

    def forward(self, x):
        def inner(y):
            return torch.tanh(self.a(y)).exp()

        return self.b(checkpoint(inner, x, use_reentrant=False)).sum()


def test_what_is_computed_again_in_the_backward_is_looked_at() -> None:
    """Its kernel is passed the memory of `tanh`, which it holds in registers and never writes."""
    x = cases.draw(3, 8).requires_grad_()
    found = wb.numerics(wb.aot_compile(Checkpointed(), (x,), grad=True), (x,))
    assert found.unlike == ()
    assert found.first is None, found.first
    assert "gradient of x" in {row.output for row in found.outputs}


def test_the_gradients_of_a_batch_norm_are_compared() -> None:
    model = torch.nn.Sequential(torch.nn.Conv2d(3, 4, 3), torch.nn.BatchNorm2d(4), torch.nn.ReLU())
    x = cases.draw(2, 3, 8, 8)
    found = wb.numerics(wb.aot_compile(model, (x,), grad=True), (x,))
    assert not [why for why in found.not_compared if "differentiable" in why]


def test_a_tensor_made_of_others_is_refused_and_a_class_of_the_users_is_not(tmp_path) -> None:
    from torch.testing._internal.two_tensor import TwoTensor

    class Own(torch.Tensor):
        pass

    two = TwoTensor(cases.draw(4, 8), cases.draw(4, 8, seed=1))
    with pytest.raises(
        wb.UsageError, match="is a TwoTensor, which the graphs replace with its inner"
    ):
        cases.look(cases.gelu, two)
    found = cases.look(cases.layernorm, cases.draw(4, 256).as_subclass(Own))
    row = next(row for row in found.deviations if row.kernel)
    found.repro(row.kernel, tmp_path / "own.py", row.node)
    kept = torch.load(tmp_path / "own.pt")  # by a process that does not know the class
    assert {type(each) for each in kept["args"]} <= {torch.Tensor, int}


class Dropping(torch.nn.Module):
    def forward(self, x):
        def inner(y):
            return torch.nn.functional.dropout(torch.tanh(y), 0.5)

        return checkpoint(inner, x, use_reentrant=False).sum()


def test_random_numbers_that_a_checkpoint_draws_are_not_compared() -> None:
    x = cases.draw(3, 8).requires_grad_()
    found = wb.numerics(wb.aot_compile(Dropping(), (x,), grad=True), (x,))
    assert found.outputs == ()
    assert "float64" not in found.sentence
    with pytest.raises(wb.UsageError, match="draws different random numbers"):
        found.batch_invariance()


def test_a_value_that_is_changed_in_place_is_named() -> None:
    found = cases.look(lambda x: x.exp().mul_(2).sin(), cases.draw(4, 6))
    assert found.not_compared == ("mul_: exp was later modified in place",)


def write_beside(a, b):
    a.add_(1)
    return torch.softmax(a, -1) * b.sum(0)


def test_inputs_in_one_memory_that_is_written_to_are_refused() -> None:
    x = cases.draw(12, 6)
    parts = x[:6], x[3:9]
    with pytest.raises(wb.UsageError, match="share memory that the call may write to"):
        cases.look(write_beside, *parts)
    assert cases.look(write_beside, parts[0], cases.draw(6, 6, seed=1)).first is None
    assert cases.look(lambda a, b: a.exp() + b, *parts).first is None


WARM = """
import sys
import torch
from torch.utils.checkpoint import checkpoint
from torch._dynamo.utils import counters
import numerics_cases as cases
import workbench as wb

args = cases.draw(64, 256, dtype=cases.BF), cases.draw(256, dtype=cases.BF, seed=1)
torch.compile(cases.softmax_chain)(*args)
print(counters["inductor"]["fxgraph_cache_hit"], counters["aot_autograd"]["autograd_cache_hit"])
found = wb.numerics(wb.aot_compile(cases.softmax_chain, args, grad=False), args)
print(found.sentence, [(row.node, row.cause) for row in found.deviations], found.not_compared)
"""


@pytest.mark.slow
def test_a_program_that_torch_has_in_its_caches_is_looked_at_as_well(tmp_path) -> None:
    """Two fresh processes: the second takes the same graph from both caches when it compiles."""
    tests = str(Path(__file__).parents[3])
    places = {"PYTHONPATH": os.pathsep.join([tests, *sys.path])}
    given = {**os.environ, **places, "TORCHINDUCTOR_CACHE_DIR": str(tmp_path)}
    cold, warm = (
        subprocess.run(
            [sys.executable, "-c", WARM], env=given, capture_output=True, text=True, check=True
        ).stdout.splitlines()
        for _ in range(2)
    )
    assert (cold[0], warm[0]) == ("0 0", "1 1")
    assert cold[1] == warm[1]
    assert warm[1].startswith("Nearer to float64 than eager (")
