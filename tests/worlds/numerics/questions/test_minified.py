"""What is left of a call that fails, by torch's minifier."""

from __future__ import annotations

import subprocess
import sys

import numerics_cases as cases
import pytest
import torch

import workbench as wb
from workbench.tasks.background_task import Cancelled

X, Y = cases.draw(16, 32), cases.draw(16, 32, seed=1)


def longer(x, y):
    z = torch.relu(x * y).exp() - x.sin()
    return (z + 1.5) * y.cos(), z.sum(-1)


def test_the_operator_that_is_compiled_wrongly_is_left_over(capfd) -> None:
    with cases.changed_kernels("static_cast<float>(1.5)", "static_cast<float>(1.25)"):
        found = wb.minify(longer, (X, Y))
    called = [str(n.target) for n in found.module.graph.nodes if n.op == "call_function"]
    assert called == ["aten.add.Tensor"]
    assert (found.nodes, found.nodes_before) == (1, 9)
    assert found.sentence.startswith("1 of 9 operators of longer still fails after ")
    assert " eps, eager's " in found.sentence
    assert capfd.readouterr() == ("", "")


def test_what_the_compiler_refuses_is_left_over_and_a_script_runs_it(tmp_path) -> None:
    def refuse(graph):
        if any(node.target is torch.ops.aten.sin.default for node in graph.nodes):
            raise ValueError("no sine")

    options = {"post_grad_custom_post_pass": refuse}
    found = wb.minify(longer, (X, Y), options=options)
    assert [n.target for n in found.module.graph.nodes if n.op == "call_function"] == [
        torch.ops.aten.sin.default
    ]
    assert "no sine" in found.how
    path = found.save(tmp_path / "part.py")
    text = (tmp_path / "part.py").read_text()
    assert str(tmp_path) not in text
    ran = subprocess.run([sys.executable, path], capture_output=True, text=True, cwd="/")
    assert ran.stdout.startswith("largest difference "), ran.stderr[-500:]


def test_a_judge_of_the_user_and_a_cancel() -> None:
    def has_exp(module, inputs):
        return any(node.target is torch.ops.aten.exp.default for node in module.graph.nodes)

    told: list[str] = []
    found = wb.minify(longer, (X, Y), fails=has_exp, progress=lambda name, _: told.append(name))
    assert found.nodes == 1
    assert found.how == "fails() is True"
    assert told[0] == "try 1: 9 operators"
    assert len(told) == found.tries

    def stop(name, _):
        if name.startswith("try 3"):
            raise Cancelled("enough")

    with pytest.raises(Cancelled):
        wb.minify(longer, (X, Y), fails=has_exp, progress=stop)


def test_a_module_is_followed_with_its_weights_and_what_cannot_be_is_refused() -> None:
    model = torch.nn.Linear(32, 4).eval()
    with pytest.raises(wb.UsageError, match=r"Linear does not fail: error .* eps, eager's"):
        wb.minify(model, (X,))
    with pytest.raises(wb.UsageError, match="returns no tensor"):
        wb.minify(lambda x: x.shape[0], (X,))

    def broken(x):
        raise ValueError("no such layer")

    with pytest.raises(wb.UsageError, match="cannot be traced operator by operator: no such"):
        wb.minify(broken, (X,))


def test_a_verification_that_fails_names_the_part_and_why() -> None:
    with cases.changed_kernels("static_cast<float>(1.5)", "static_cast<float>(1.25)"):
        compiled = wb.aot_compile(cases.pointwise, (X, Y), grad=False)
    answer = wb.verify(compiled, (X, Y))
    assert answer.verdict == "failed"
    assert "k0 (cpp_fused_" in answer.cause
    assert "computes something else than its nodes at sub (" in answer.cause
    assert answer.cause in answer.sentence


def test_what_fails_by_chance_is_not_said_to_fail() -> None:
    whole = iter([True, True, True])  # ours, and the minifier's first and last

    def fails(module, _inputs):
        calls = [node for node in module.graph.nodes if node.op == "call_function"]
        outputs = module.graph.output_node().args[0]
        return len(calls) == 9 and len(outputs) == 2 and next(whole, False)

    with pytest.raises(wb.UsageError, match="by torch's minifier, does not fail again"):
        wb.minify(longer, (X, Y), fails=fails)
