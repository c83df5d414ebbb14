from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import workbench as wb
from workbench.command_line.main import main
from workbench.report import STAGES, Report
from workbench.views.document import document

LOGS = Path(__file__).parents[3] / "records" / "traces"
Log = Callable[[str], Path]


def read(shape: str) -> wb.Report:
    packed = LOGS / f"{shape}.log.gz"
    return wb.read_trace(packed if packed.exists() else LOGS / shape)


def test_breaks_stand_on_their_lines_and_are_counted() -> None:
    report = read("recompiles")
    assert [(b.function, b.text, b.gb_id, b.count) for b in report.breaks] == [
        ("scores", 'print("scored")', "GB0059", 2),
        ("looping", 'print("round")', "GB0059", 1),
    ]
    first, in_loop = report.breaks
    assert first.file == "/project/tests/records/traced.py"
    assert first.kind == "Failed to trace builtin operator"
    assert first.explanation.startswith("Dynamo does not know how to trace")
    assert any("reorderable_logging_functions" in hint for hint in first.hints)
    assert any("falls back to eager" in hint for hint in in_loop.hints)
    assert report.outcome.ok
    assert report.request.notes == ("Dynamo skipped looping in compilation 2/0",)


def test_recompilations_name_the_function_and_the_guard() -> None:
    rows = [(r.compile_id, r.function, r.reason) for r in read("recompiles").recompiles]
    assert rows[0] == (
        "0/1",
        "scores",
        "0/0: tensor 'x' size mismatch at index 0. expected 8, actual 12",
    )
    assert [row[0] for row in rows] == ["0/1", "1/1", "3/1", "3/2", "3/2"]


def test_a_failed_compilation_is_the_outcome_and_its_break_is_a_row() -> None:
    report = read("failed")
    assert not report.outcome.ok
    assert report.outcome.step == "compilation 0/0 (stopped), 1/0 (halved)"
    assert "InductorError: ValueError: this pass refuses every graph" in str(report.outcome.error)
    assert [(b.function, b.text, b.gb_id) for b in report.breaks] == [
        ("stopped", "if y.sum() > 0:", "GB0170")
    ]
    assert [k.name for k in report.kernels] == [
        "cpp_fused_exp_halve_0",
        "torch.ops.traced.halve.default",
        "cpp_fused_log_1",
    ]


def test_graphs_of_every_stage_have_nodes_that_lead_to_kernels_and_lines() -> None:
    report = read("gpu")
    assert {graph.stage for graph in report.graphs} <= set(STAGES)
    assert sum(graph.node_count for graph in report.graphs) == len(report.nodes)
    kernel = next(k for k in report.kernels if k.language == "triton")
    assert kernel.ops == ("prims.prepare_softmax_online.default", "aten.relu.default")
    assert kernel.text is not None
    assert "@triton.jit" in report.texts[kernel.text]
    source = report.sources[0]
    assert source.text is not None
    lines = report.texts[source.text].split("\n")
    number = int(kernel.lines[0].rpartition(":")[2]) - source.first_line
    assert lines[number] == "y = torch.relu(x @ w)"
    assert set(kernel.nodes) <= set(report.linked(kernel.id))
    assert (kernel.bytes_read, kernel.bytes_written) == (16384, 512)


def test_a_training_step_has_graphs_and_kernels_of_both_directions() -> None:
    report = wb.read_trace(LOGS / "ranks").logs["rank 0"]
    assert {graph.stage for graph in report.graphs if graph.is_backward} == {
        *("backward", "before_post_grad", "after_post_grad"),
    }
    assert {kernel.is_backward for kernel in report.kernels} == {False, True}
    assert report.request.grad


def test_several_ranks_are_one_report_and_one_each() -> None:
    trace = wb.read_trace(LOGS / "ranks")
    assert list(trace.logs) == ["rank 0", "rank 1"]
    alone = [trace.logs[name] for name in trace.logs]
    for part in ("graphs", "nodes", "kernels", "guards", "phases"):
        assert len(getattr(trace, part)) == sum(len(getattr(one, part)) for one in alone)
    assert {graph.compile_id for graph in trace.graphs} == {"rank 0: 0/0", "rank 1: 0/0"}
    assert {graph.compile_id for graph in alone[1].graphs} == {"0/0"}
    assert {phase.thread.partition(",")[0] for phase in trace.phases} == {"rank 0", "rank 1"}
    assert [one.request.inputs for one in alone] == [
        ("x: float32 [4, 16] on cpu",),
        ("x: float32 [6, 16] on cpu",),
    ]
    assert trace.why_missing("kernel nodes") is not None


def test_phases_lie_inside_of_each_other() -> None:
    phases = list(read("recompiles").phases)
    assert {phase.name for phase in phases} >= {"dynamo", "entire_frame_compile", "compile_file"}
    for thread in {phase.thread for phase in phases}:
        open_: list[float] = []
        for phase in (p for p in phases if p.thread == thread):
            del open_[phase.depth :]
            end = phase.start_s + phase.duration_s
            assert all(end <= outer + 2e-6 for outer in open_)
            assert phase.self_s <= phase.duration_s
            open_.append(end)


def test_guards_have_sources_code_and_lines() -> None:
    guards = [g for g in read("failed").guards if g.kind == "TENSOR_MATCH"]
    assert [(g.source, g.file, g.is_global) for g in guards] == [
        ("L['x']", "/project/tests/records/traced.py", False)
    ]
    assert guards[0].code[0].startswith("check_tensor(L['x'], Tensor, ")
    assert guards[0].code[1:] == tuple(
        f"hasattr(L['x'], '_dynamo_{mark}_indices') == False"
        for mark in ("dynamic", "weak_dynamic", "unbacked", "strict_unbacked", "static")
    )
    assert all(g.code for g in read("recompiles").guards)


def test_the_environment_is_that_of_the_log() -> None:
    report = read("recompiles")
    there = report.environment
    assert (there.torch[:4], there.python[:5], there.cpu) == ("2.13", "3.11.", "")
    assert there.threads > 0
    assert report.request.inputs == ("x: float32 [8, 16] on cpu",)
    assert "s77 = x.shape[0]" in str(report.request.dynamic_shapes)
    assert {event.outcome for event in report.cache} == {"miss"}


def test_what_a_log_cannot_tell_has_a_reason() -> None:
    report = read("gpu")
    for part in ("fusion", "scheduler_nodes", "autotune", "kernel_lines"):
        assert "wb.aot_compile" in str(report.why_missing(part))
    assert report.why_missing("graphs") is None


def test_sizes_that_a_log_left_open_were_not_asked_for() -> None:
    found = wb.diff(read("failed"), read("recompiles"))
    assert "dynamic_shapes" in set(found.frame("request").item)
    assert not any("dynamic_shapes" in sentence for sentence in found.sentences)


def test_unknown_kinds_are_kept_and_listed(log: Log) -> None:
    path = log("gpu")
    head = "V1121 16:46:54.983000 8586 torch/new.py:1] "
    with path.open("a") as file:
        file.write(f'{head}{{"new_kind": {{"a": 1}}, "has_payload": "x"}}\n\tits payload\n')
        file.write(f'{head}{{"artifact": {{"name": "new_artifact", "encoding": "string"}}}}\n')
    report = wb.read_trace(path)
    unknown = report.extra["unknown_records"]
    assert unknown["new_kind"] == [
        {"compile_id": None, "metadata": {"a": 1}, "payload": "its payload"}
    ]
    assert report.extra["records"]["new_artifact"] == 1
    assert any("new_artifact, new_kind" in note for note in report.request.notes)


def test_known_records_of_another_shape_are_counted(log: Log) -> None:
    path = log("gpu")
    head = "V1121 16:46:54.983000 8586 torch/new.py:1] "
    with path.open("a") as file:
        for kind in ("dynamo_start", "compilation_metrics", "create_symbol", "describe_tensor"):
            file.write(f'{head}{{"{kind}": [1, 2], "frame_id": 0, "frame_compile_id": 9}}\n')
        file.write(f'{head}{{"chromium_event": {{}}, "has_payload": "x"}}\n\tno json\n')
        file.write(
            f'{head}{{"str": 3}}\n{head}{{"rank": 0}}\n{head}[]\n{head}{{"str": ["a", 1]}}\n'
        )
    report = wb.read_trace(path)
    assert len(report.kernels) == 3
    assert any("skipped 5 unreadable records" in note for note in report.request.notes)


@pytest.mark.parametrize("share", [0.1, 0.35, 0.5, 0.8, 0.97])
def test_a_truncated_log_gives_what_it_holds(share: float, log: Log) -> None:
    path = log("recompiles")
    whole = wb.read_trace(path)
    content = path.read_bytes()
    path.write_bytes(content[: int(len(content) * share)])
    report = wb.read_trace(path)
    for name in ("graphs", "nodes", "breaks", "kernels", "guards", "phases", "recompiles"):
        assert 0 <= len(getattr(report, name)) <= len(getattr(whole, name))
    assert any("the log ends" in n for n in report.request.notes)
    assert report.to_html()


def test_a_damaged_log_raises_nothing(log: Log) -> None:
    path = log("failed")
    lines = path.read_bytes().split(b"\n")
    mixed = [line[: len(line) // 2] if n % 7 == 3 else line for n, line in enumerate(lines)]
    path.write_bytes(b"\n".join(line for n, line in enumerate(mixed) if n % 11))
    report = wb.read_trace(path)
    for name in report.tables:
        list(getattr(report, name))
    assert any("unreadable record" in note for note in report.request.notes)
    assert any("lost or changed lines" in note for note in report.request.notes)


def test_a_trace_is_saved_and_shown_as_any_report(tmp_path: Path) -> None:
    trace = wb.read_trace(LOGS / "ranks")
    trace.save(tmp_path / "ranks.wbr")
    again = Report.load(tmp_path / "ranks.wbr")
    assert repr(again) == "Report(forward, cpu, ok, 24 kernels, 0 breaks, 80 guards)"
    assert repr(trace).endswith("80 guards, logs: rank 0, rank 1)")
    assert list(again.nodes) == list(trace.nodes)
    assert "rank 1" in trace.to_html()
    assert "kernels       24" in repr(wb.show(trace))


def test_graphs_of_several_compilations_are_told_apart_in_the_view() -> None:
    titles = [graph["title"] for graph in document(read("recompiles"))["graphs"]]
    assert titles[0] == "0/0 · Captured graph"
    assert len(set(titles)) == len(titles)
    assert document(read("gpu"))["graphs"][0]["title"] == "Captured graph"


def test_reading_imports_no_torch() -> None:
    program = (
        "import sys, workbench as wb\n"
        f"trace = wb.read_trace({str(LOGS / 'gpu.log.gz')!r})\n"
        "assert len(trace.kernels) == 3 and len(trace.nodes) and len(trace.links)\n"
        "print([name for name in ('torch', 'triton', 'numpy', 'pandas') if name in sys.modules])\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout.strip() == "[]", done.stderr


def test_paths_without_a_log_are_refused(tmp_path: Path) -> None:
    with pytest.raises(wb.UsageError, match="does not exist"):
        wb.read_trace(tmp_path / "missing.log")
    with pytest.raises(wb.UsageError, match="has no trace log"):
        wb.read_trace(tmp_path)
    (tmp_path / "other.log").write_text("something else\n")
    with pytest.raises(wb.UsageError, match="has no record"):
        wb.read_trace(tmp_path)
    (tmp_path / "other.log.gz").write_bytes(b"\x1f\x8bno such log at all")
    with pytest.raises(wb.UsageError, match="Cannot read the trace log"):
        wb.read_trace(tmp_path / "other.log.gz")


def test_a_compressed_log_without_its_end_gives_what_it_holds(tmp_path: Path) -> None:
    content = (LOGS / "failed.log.gz").read_bytes()
    (tmp_path / "cut.log.gz").write_bytes(content[: len(content) // 2])
    report = wb.read_trace(tmp_path)
    assert len(report.graphs) > 0
    assert any("the log ends" in note for note in report.request.notes)


def test_logs_of_a_folder_that_was_used_twice_keep_their_names(tmp_path: Path) -> None:
    for name in ("first", "second"):
        target = tmp_path / f"dedicated_log_torch_trace_{name}.log.gz"
        target.write_bytes((LOGS / "gpu.log.gz").read_bytes())
    trace = wb.read_trace(tmp_path)
    assert list(trace.logs) == ["first", "second"]
    assert len(trace.kernels) == 6


def test_an_export_that_raised_is_a_failed_outcome(tmp_path: Path) -> None:
    """torch logs no error of an export, only the graph until then."""
    log = export_log(tmp_path, 'add: "f32[4]" = add.Tensor(arg0_1, 1);  arg0_1 = None')
    found = wb.read_trace(log)
    assert not found.outcome.ok
    assert found.outcome.step == "compilation export"
    assert 'raised an error after model.py:11 in forward: "if n < k:": add:' in str(
        found.outcome.error
    )
    assert not found.breaks
    assert main(["report", str(log)]) == 1


def export_log(folder: Path, last: str, *records: dict[str, object]) -> Path:
    """The log of an export that raised after the node `last`."""
    head = "V1125 22:45:53.000000 1 torch/fx/proxy_tensor.py:2929] "
    graph = (
        "\ndef forward(self, arg0_1):\n    # File: model.py:11 in forward, code: if n < k:\n"
        f"    {last}\n"
    )
    meta = {"artifact": {"name": "make_fx_fail_partial", "encoding": "string"}}
    written = {**meta, "has_payload": hashlib.md5(graph.encode()).hexdigest()}
    lines = "".join(f"\t{line}\n" for line in graph.split("\n"))
    before = "".join(f"{head}{json.dumps(record)}\n" for record in records)
    log = folder / "export.log"
    log.write_text(f"{before}{head}{json.dumps(written)}\n{lines}")
    return log


COUNTED = [{"line": 9, "name": "forward", "filename": 0, "loc": "n = a.nonzero().shape[0]"}]
SYMBOLS: list[dict[str, object]] = [
    {"str": ["model.py", 0]},
    {"create_symbol": {"symbol": "s52", "source": "L['b'].size()[0]", "vr": "[2, int_oo]"}},
    {"create_unbacked_symbol": {"symbol": "u0", "vr": "[0, int_oo]", "user_stack": COUNTED}},
]
BECAUSE = 'where u0 is computed from data at model.py:9 in forward: "n = a.nonzero().shape[0]"'


def test_a_decision_by_data_of_an_export_is_a_break_in_terms_of_the_inputs(tmp_path: Path) -> None:
    log = export_log(tmp_path, 'lt: "Sym(u0 < s52)" = n < k;  n = k = lt = None', *SYMBOLS)
    found = wb.read_trace(log)
    (row,) = found.breaks
    assert (row.kind, row.file, row.line) == ("Decision by data", "model.py", 11)
    assert row.reason.endswith(f"torch cannot tell whether u0 < b.shape[0], {BECAUSE}")
    assert "torch.where" in row.hints[0]
    assert row.reason in str(found.outcome.error)
    assert found.request.dynamic_shapes == "s52 = b.shape[0] in [2, int_oo]"


def test_a_number_from_data_of_an_export_is_a_break(tmp_path: Path) -> None:
    log = export_log(tmp_path, 'item: "Sym(u0)" = item.default(arg0_1);  arg0_1 = None', *SYMBOLS)
    (row,) = wb.read_trace(log).breaks
    assert (row.kind, row.text) == ("Number from data", "if n < k:")
    assert "torch._check" in row.hints[0]


def test_sizes_that_an_operator_refuses_are_said_as_in_a_record(tmp_path: Path) -> None:
    code = (
        "import torch\n"
        "def f(x, w):\n    return x.relu() @ w\n"
        "try:\n    torch.compile(f, backend='eager')(torch.ones(3, 4), torch.ones(5, 6))\n"
        "except Exception:\n    print('refused')\n"
    )
    file = tmp_path / "refusing.py"
    file.write_text(code)
    run = [sys.executable, str(file)]
    env = {**os.environ, "TORCH_TRACE": str(tmp_path / "log")}
    done = subprocess.run(run, env=env, capture_output=True, text=True, check=True)
    assert done.stdout == "refused\n"
    (log,) = (tmp_path / "log").iterdir()
    found = wb.read_trace(log)
    assert found.outcome.step == "compilation 0/0 (f)"
    said = "matmul does not take tensors of shapes [3, 4] and [5, 6]: a and b must have same"
    assert str(found.outcome.error).startswith(said)
    assert len(found.breaks) == 0


def test_an_export_that_dynamo_gave_up_is_a_failed_outcome(tmp_path: Path) -> None:
    """Dynamo writes why, and no compilation."""
    reason = (
        "Could not guard on data-dependent expression u0 < 4 (unhinted: u0 < s52).  (Size-like "
        'symbols: u0)\n\nUser Stack:\n  File "model.py", line 11, in forward\n    if n < k:\n'
    )
    head = "V1125 22:45:53.000000 1 torch/fx/proxy_tensor.py:2929] "
    metrics = {"compilation_metrics": {"fail_type": "UserError", "fail_reason": reason}}
    log = tmp_path / "strict.log"
    log.write_text("".join(f"{head}{json.dumps(one)}\n" for one in (*SYMBOLS, metrics)))
    found = wb.read_trace(log)
    assert not found.outcome.ok
    assert (found.breaks[0].line, found.breaks[0].kind) == (11, "Decision by data")
    assert f"u0 < b.shape[0], {BECAUSE}" in str(found.outcome.error)
    assert main(["report", str(log)]) == 1


def test_a_log_of_aotinductor_shows_its_generated_program(tmp_path: Path) -> None:
    kernel = '\nextern "C"  void  cpp_fused_0(float* out_ptr0)\n{\n}\n'
    wrapper = "\nvoid AOTInductorModel::run_impl(\n    cpp_fused_0((float*)(buf0.data_ptr()));\n"
    lines = ""
    for name, text in (("wrapper", wrapper), ("kernel", kernel)):
        meta = {"graph_dump": {"name": f"inductor_aot_{name}_code", "type": "cpp"}}
        meta["has_payload"] = hashlib.md5(text.encode()).hexdigest()  # type: ignore[assignment]
        lines += f"V1125 22:45:53.000000 1 torch/_inductor/codecache.py:2616] {json.dumps(meta)}\n"
        lines += "".join(f"\t{line}\n" for line in text.split("\n"))
    (tmp_path / "aoti.log").write_text(lines)
    report = wb.read_trace(tmp_path / "aoti.log")
    assert [(k.name, k.calls) for k in report.kernels] == [("cpp_fused_0", 1)]
    assert len(report.wrappers) == 1
    assert next(row for row in report.capabilities if row.name == "kernels").available
