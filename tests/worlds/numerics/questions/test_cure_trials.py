from __future__ import annotations

import os
import subprocess
import sys

import numerics_cases as cases
import pytest
import torch

import workbench as wb
from workbench.worlds.numerics.findings import causes
from workbench.worlds.numerics.findings.numerics_cures import UNCONTRACTED


@pytest.fixture(scope="module")
def chain():
    x, w = cases.draw(64, 256, dtype=cases.BF), cases.draw(256, dtype=cases.BF, seed=1)
    return cases.look(cases.softmax_chain, x, w)


def test_the_nodes_of_a_kernel_are_a_module_of_what_it_is_given(chain) -> None:
    module = chain.subgraph("k0")
    x, w = cases.draw(64, 256, dtype=cases.BF), cases.draw(256, dtype=cases.BF, seed=1)
    names = [node.name for node in module.graph.nodes if node.op == "placeholder"]
    given = {"arg0_1": x, "arg1_1": w}
    results = module(*(given[name] for name in names))
    eager = cases.softmax_chain(x, w)
    assert (results[-1].float() - eager.float()).abs().max() < 0.1
    with pytest.raises(wb.UsageError, match=r"Kernel 'k7' does not exist\. Choose one of: k0"):
        chain.subgraph("k7")


def test_a_cause_is_proved_by_its_option(chain) -> None:
    proof = chain.prove("k0", "mul_2")
    assert proof.is_proved
    assert proof.option == causes.EMULATE
    assert proof.differ > 0.5
    assert proof.differ_after < 0.05
    assert proof.sentence.startswith("k0, mul_2: casts elided by fusion. With emulate_precision")
    assert proof.sentence.endswith("This proves it.")


def test_what_no_option_changes_is_not_proved() -> None:
    found = cases.look(cases.column_sum, cases.draw(10_000, 64, dtype=cases.H))
    with pytest.raises(wb.UsageError, match="No known option changes sum_1 of k0"):
        found.prove("k0")
    assert found.opportunities == ()
    assert found.cures() == ()


def test_a_script_runs_one_kernel_alone_and_names_no_machine(chain, tmp_path) -> None:
    path = chain.repro("k0", tmp_path / "repro.py")
    text = (tmp_path / "repro.py").read_text()
    assert path == str(tmp_path / "repro.py")
    assert sorted(each.name for each in tmp_path.iterdir()) == ["repro.pt", "repro.py"]
    home = os.path.expanduser("~")
    assert not [word for word in (str(tmp_path), home, "environ", "/tmp") if word in text]
    variables = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    ran = subprocess.run(
        [sys.executable, path], capture_output=True, text=True, cwd="/", env=variables
    )
    assert ran.returncode == 0, ran.stderr[-800:]
    line = next(each for each in ran.stdout.split("\n") if each.startswith("mul_2: "))
    assert "as recorded True" in line
    assert f"differs from eager in {chain.find('k0', 'mul_2').differ:.1%}" in line


def test_a_library_call_has_no_script_but_nodes() -> None:
    def product(x, w):
        return (x @ w).relu()

    found = cases.look(product, cases.draw(16, 16), cases.draw(16, 16, seed=1))
    library = next(k for k in found.report.kernels if not k.is_generated)
    with pytest.raises(wb.UsageError, match="is a library call without generated source"):
        found.repro(library.id, "never_written.py")
    (value,) = found.subgraph(library.id)(cases.draw(16, 16), cases.draw(16, 16, seed=1))
    torch.testing.assert_close(value, cases.draw(16, 16) @ cases.draw(16, 16, seed=1))


@pytest.fixture(scope="module")
def tried(chain):
    return {row.option: row for row in chain.cures()}


def test_the_price_of_a_cure_is_counted_and_measured(chain, tried) -> None:
    change = chain.opportunities[0]
    assert change.action == "options={'emulate_precision_casts': True}"
    assert change.why_not is None
    row = tried[causes.EMULATE]
    assert row.differ_after < row.differ
    assert row.own_off_after > row.own_off  # nearer to eager is farther from the truth
    assert row.kernels == row.kernels_after == 1
    assert row.time_us > 0
    assert row.time_us_after > 0


def test_the_worst_kernel_is_tried_without_fusion(chain, tried) -> None:
    change = chain.opportunities[1]
    assert change.action == "compiled.with_fusion(unfused=['k0'])"
    row = tried["unfused='k0'"]
    assert row.differ_after < row.differ
    assert row.own_off_after > row.own_off  # every value is rounded, as eager's are
    assert row.bytes_after > 10 * row.bytes
    assert [*tried] == [causes.EMULATE, "unfused='k0'"]
    apart = chain.compiled.with_fusion(unfused=["k0"])
    assert apart.report.request.notes[-1] == (
        "With with_fusion: k0 writes the result of every operator to memory."
    )
    with pytest.raises(wb.UsageError, match="'k7' is not a generated kernel: expected one of k0"):
        chain.compiled.with_fusion(unfused=["k7"])


@pytest.mark.slow
def test_multiply_adds_of_cpp_are_offered_to_be_taken_apart_where_they_are_allowed() -> None:
    def scaled(x, y, z):
        return (x * y + z) * x - y

    args = [cases.draw(64, 256, seed=seed) for seed in range(3)]
    plain = cases.look(scaled, *args)
    assert plain.deviations == ()
    assert plain.opportunities == ()
    found = cases.look(scaled, *args, options={"cpp.enable_floating_point_contract_flag": "fast"})
    (row,) = found.deviations
    assert row.cause == causes.ROUNDING
    assert found.answers["What cures it?"].startswith(
        f"Not tried yet: `{UNCONTRACTED}`: round between multiply and add"
    )
    (cure,) = (row for row in found.cures() if row.option == UNCONTRACTED)
    assert (cure.deviations, cure.deviations_after) == (1, 0)
    assert (cure.kernels, cure.kernels_after, cure.bytes) == (1, 1, cure.bytes_after)


def test_dropout_is_cured_as_a_whole() -> None:
    def dropped(x):
        return torch.nn.functional.dropout(x * 2, 0.3) + 1

    found = cases.look(dropped, cases.draw(64, 256))
    row = found.first
    with pytest.raises(wb.UsageError, match="draws random numbers"):
        found.prove(next(r.kernel for r in found.deviations if r.kernel))
    cure, *_ = found.cures()
    assert cure.option == row.option == causes.FALLBACK_RANDOM
    assert cure.deviations_after == 0 < cure.deviations
