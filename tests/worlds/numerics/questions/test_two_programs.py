"""Two programs of one call: equal bit for bit, or the first place where they part."""

from __future__ import annotations

import subprocess
import sys

import numerics_cases as cases
import pytest
import torch

import workbench as wb

X, W = cases.draw(64, 256, dtype=cases.BF), cases.draw(256, dtype=cases.BF, seed=1)
EMULATE = {"emulate_precision_casts": True}


def layers(x, w):
    y = torch.softmax((x * w + x.sin()) * 1.7, -1)
    return (y @ x.t()).relu() * 2 + 1


def compiled(function, *args, **options):
    return wb.aot_compile(function, args, **{"grad": False, **options})


@pytest.fixture(scope="module")
def plain():
    return compiled(layers, X, W)


def test_a_program_agrees_with_itself(plain) -> None:
    found = wb.numerics(plain, (X, W), against=plain)
    assert found.is_equal
    assert found.first is None
    assert found.sentence.startswith("layers and layers are bitwise equal in ")
    assert repr(found) == "ProgramsApart(layers, layers: equal)"
    assert len(found.frame()) >= 2
    assert list(found.frame("outputs").node) == ["output[0]"]


def test_two_modes_part_where_one_rounds_and_the_other_does_not(plain) -> None:
    found = wb.numerics(plain, (X, W), against=compiled(layers, X, W, options=EMULATE))
    row = found.first
    assert row.line == layers.__code__.co_firstlineno + 1
    assert row.reason.startswith(
        "the first elides casts that the other one performs: 3 values never"
    )
    by_node = {value.node: value for value in found.values}
    for node in ("y", "matmul"):
        assert by_node[node].differ
        assert by_node[node].inherited
        assert not by_node[node].reason
    assert found.outputs[0].inherited
    assert found.sentence.startswith(f"They first differ at {row.node} (")
    assert list(found.frame().columns[:2]) == ["node", "file"]


def test_a_trainer_and_a_server_are_compared_by_the_nodes_of_the_call() -> None:
    def other_eps(graph):
        for node in graph.nodes:
            if node.target is torch.ops.aten.add.Tensor and node.args[1] == 1e-5:
                node.args = (node.args[0], 1e-3)

    class Scores(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.norm, self.out = torch.nn.LayerNorm(64), torch.nn.Linear(64, 32)

        def forward(self, x):
            return torch.softmax(self.out(self.norm(x)), -1)

    model, x = Scores(), cases.draw(16, 64)
    trainer = wb.aot_compile(model, (x,))
    assert any(wrapper.is_backward for wrapper in trainer.report.wrappers)
    same = wb.numerics(trainer, (x,), against=compiled(model, x))
    assert all(row.max_ulp < 64 for row in same.outputs)
    server = compiled(model, x, options={"post_grad_custom_post_pass": other_eps})
    found = wb.numerics(trainer, (x,), against=server)
    assert found.first.node in ("layer_norm", "rsqrt")
    assert found.first.line == Scores.forward.__code__.co_firstlineno + 1
    assert found.outputs[0].differ > 0.9


def test_a_program_of_another_process_leaves_a_file(plain, tmp_path) -> None:
    path = tmp_path / "values.pt"
    wb.numerics(compiled(layers, X, W, options=EMULATE), (X, W)).save_values(path)
    found = wb.numerics(plain, (X, W), against=path)
    assert "elides casts" in found.first.reason
    data = torch.load(path, weights_only=True)
    data["place"] = "torch 2.99, 4 threads"
    torch.save(data, path)
    again = wb.numerics(plain, (X, W), against=path)
    assert "the second with torch 2.99, 4 threads." in again.sentence
    code = "import torch, sys; print(len(torch.load(sys.argv[1], weights_only=True)['values']))"
    ran = subprocess.run([sys.executable, "-c", code, path], capture_output=True, text=True)
    assert int(ran.stdout) == len(data["values"])


def test_what_cannot_be_compared_is_refused_in_a_sentence(plain, tmp_path) -> None:
    with pytest.raises(wb.UsageError, match="against is of type int: pass a result of aot_compile"):
        wb.numerics(plain, (X, W), against=3)
    with pytest.raises(wb.UsageError, match=r"The file none\.pt does not exist"):
        wb.numerics(plain, (X, W), against=tmp_path / "none.pt")
    (tmp_path / "text.pt").write_text("no values")
    with pytest.raises(wb.UsageError, match=r"text\.pt has no values of a call"):
        wb.numerics(plain, (X, W), against=tmp_path / "text.pt")
    wb.numerics(plain, (X, W)).save_values(tmp_path / "values.pt")
    with pytest.raises(wb.UsageError, match="have different inputs or weights"):
        wb.numerics(plain, (X + 1, W), against=tmp_path / "values.pt")
    with pytest.raises(wb.UsageError, match="It has: values, outputs"):
        wb.numerics(plain, (X, W), against=plain).frame("kernels")


def both(q):
    return q.sin(), q.sum(-1)


@pytest.mark.parametrize(
    ("other", "begin"),
    [
        (lambda q: q.sin(), "both returns 2 values, <lambda> 1."),
        (lambda q: (q.sin(), q.sum(-1, keepdim=True)), "Output 1 is float32 [8] in both and "),
        (lambda q: (q.sin().half(), q.sum(-1)), "Output 0 is float32 [8, 16] in both and "),
    ],
)
def test_programs_whose_outputs_are_of_another_kind_do_not_agree(other, begin) -> None:
    x = cases.draw(8, 16)
    found = wb.numerics(compiled(both, x), (x,), against=compiled(other, x))
    assert found.is_equal is False
    assert found.sentence.startswith(begin)
    assert "are bitwise equal in" not in found.sentence


def test_programs_whose_arguments_have_other_names_are_not_matched() -> None:
    x = cases.draw(8, 16)
    with pytest.raises(wb.UsageError, match=r"\(l_q_\) and .* \(l_z_\) have no common input"):
        wb.numerics(compiled(both, x), (x,), against=compiled(lambda z: z.sin(), x))


@pytest.mark.parametrize(
    "change",
    [
        lambda data: data["values"][0].update(value=3),
        lambda data: data["values"][0].update(reads=7),
        lambda data: data.update(inputs=5),
    ],
)
def test_a_file_with_other_things_in_it_holds_no_values(plain, tmp_path, change) -> None:
    path = tmp_path / "values.pt"
    wb.numerics(plain, (X, W)).save_values(path)
    data = torch.load(path, weights_only=True)
    change(data)
    torch.save(data, path)
    with pytest.raises(wb.UsageError, match=r"values\.pt has no values of a call"):
        wb.numerics(plain, (X, W), against=path)


def test_another_program_and_a_reference_are_not_asked_for_at_once(plain) -> None:
    with pytest.raises(wb.UsageError, match="against= compares two results of aot_compile"):
        wb.numerics(plain, (X, W), against=plain, reference=layers)
