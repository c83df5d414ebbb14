"""Logs of tritonparse as reports; those in `tests/records/kernel_logs` were compiled by Triton."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import workbench as wb
from workbench.artifacts.archive.file_kinds import open_any
from workbench.command_line.main import main
from workbench.report.presenter import presenter
from workbench.views.panes.kernels_pane import configs
from workbench.worlds.logs.reading.kernel_log import list_parameters

LOGS = Path(__file__).parents[3] / "records" / "kernel_logs"
T4, MI300X = LOGS / "t4.ndjson.gz", LOGS / "mi300x.ndjson.gz"


def events(log: Path = T4) -> list[dict[str, Any]]:
    """The events of a log, to be changed."""
    return [json.loads(line) for line in gzip.decompress(log.read_bytes()).splitlines()]


def written(path: Path, rows: list[dict[str, Any]]) -> Path:
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    return path


@pytest.fixture
def report() -> wb.Report:
    return wb.read_tritonparse(T4)


def test_configurations_of_one_function_are_one_kernel(report: wb.Report) -> None:
    assert [(k.name, k.language) for k in report.kernels] == [
        ("add_kernel", "triton"),
        ("product_kernel", "triton"),
    ]
    found = [(r.kernel, r.choice, r.warps, r.smem_bytes) for r in report.resources]
    assert found == [
        ("k0", "BLOCK=256", 4, 0),
        ("k0", "BLOCK=1024", 4, 0),
        ("k1", "SIZE=16", 1, 1024),
    ]
    assert (report.request.target, report.environment.triton) == ("sm_75", "3.7.1")


def test_launches_are_counted_by_grid_and_arguments(report: wb.Report) -> None:
    found = [(r.config, r.grid, r.count, r.is_timing) for r in report.launches]
    assert found == [
        ("k0:c0", (16,), 2, False),
        ("k0:c1", (4,), 9, True),
        ("k0:c0", (2,), 1, False),
    ]
    assert report.launches[0].arguments[0] == ("a_ptr", "float32[4000]")
    assert report.launches[0].arguments[3] == ("n", "4000")
    assert report.kernels[0].calls == 3  # not those that only timed a configuration
    assert report.request.notes == ("9 of 12 launches only timed configurations for autotuning",)


def test_the_configuration_that_the_program_launched_comes_first(tmp_path: Path) -> None:
    rows = events()
    other = next(row for row in rows[2:] if row["event_type"] == "launch")
    more = {**rows[1], "compilation_metadata": other["compilation_metadata"]}
    swapped = wb.read_tritonparse(written(tmp_path / "t.ndjson", [*rows, *[more] * 9]))
    assert [row.choice for row in swapped.resources][:2] == ["BLOCK=1024", "BLOCK=256"]


def test_a_kernel_is_tied_to_the_line_that_launched_it(report: wb.Report) -> None:
    kernel = report.kernels[0]
    source = {row.id: row for row in report.sources}
    (line,) = kernel.lines
    _, id, number = line.split(":")
    assert (source[id].file, source[id].name, number) == ("~/project/main.py", "add", "12")
    assert report.texts[source[id].text or ""].startswith("add_kernel[grid](a, b, c, n")
    assert [called.split(":")[2] for called in kernel.called_from] == ["31"]


@pytest.mark.parametrize("stage", ["ttir", "ttgir", "llir", "ptx", "sass"])
def test_every_stage_is_tied_to_the_python_source(stage: str, report: wb.Report) -> None:
    row = next(r for r in report.assembly if r.kernel == "k1" and r.stage == stage)
    source = report.texts[report.kernels[1].text or ""].split("\n")
    text = report.texts[row.text or ""].split("\n")
    word = {"sass": "FFMA", "ptx": "fma.rn", "llir": "@llvm.fmuladd"}.get(stage, "tt.dot ")
    (number, *_) = (n for n, line in enumerate(text, 1) if word in line)
    origin = next(line for first, last, line in row.lines if first <= number <= last)
    assert "tl.dot(a, b)" in source[origin - 1]
    assert not any(mark in "\n".join(text) for mark in ("/home/somebody", "#loc"))


def test_a_helper_of_the_same_file_counts_for_the_line_that_calls_it(report: wb.Report) -> None:
    row = next(r for r in report.assembly if r.config == "k0:c0" and r.stage == "ttir")
    source = report.texts[report.kernels[0].text or ""].split("\n")
    text = report.texts[row.text or ""].split("\n")
    number = next(n for n, line in enumerate(text, 1) if "arith.select" in line)
    origin = next(line for first, last, line in row.lines if first <= number <= last)
    assert "clamp(a + b, 0.0)" in source[origin - 1]


def test_sass_tells_instructions_and_spills_but_no_registers(report: wb.Report) -> None:
    row = report.resources[2]
    assert row.instructions is not None
    assert row.instructions > 300
    assert (row.spills, row.registers) == (0, None)
    assert "register count" in str(row.note)
    assert "compile the kernel here" in str(report.why_missing("registers"))


def test_the_assembly_of_amd_tells_registers_and_occupancy() -> None:
    report = wb.read_tritonparse(MI300X)
    (row,) = report.resources
    assert report.request.target == "gfx942"
    assert row.registers is not None
    assert (row.spill_stores, row.occupancy, row.limiter) == (0, 1.0, "warps")
    assert report.why_missing("registers") is None
    assert "no launches" in str(report.why_missing("launches"))


def test_times_of_the_autotuner_are_choices(report: wb.Report) -> None:
    assert [(row.choice, row.time_ms, row.chosen) for row in report.autotune] == [
        ("BLOCK: 256, num_warps: 4", 0.011, True),
        ("BLOCK: 1024, num_warps: 4", 0.012, False),
        ("BLOCK: 65536, num_warps: 4", None, False),
    ]


def test_what_is_shown_says_what_the_log_holds(report: wb.Report, tmp_path: Path) -> None:
    said = presenter().text(report)
    assert "2 Triton kernels in 3 configurations for sm_75, launched 4 times" not in said
    assert "2 Triton kernels in 3 configurations for sm_75, launched 3 times" in said
    assert "profile()" not in said
    facts = configs(report)["k0"][0]["facts"]
    assert ("Launched", "3 times, grid 16, 2") in facts
    assert ("Timed", "9 times, grid 4") in configs(report)["k0"][1]["facts"]
    page = tmp_path / "page.html"
    report.to_html(page)
    assert "product_kernel" in page.read_text()


def test_a_record_of_it_is_saved_and_compared(report: wb.Report, tmp_path: Path) -> None:
    report.save(tmp_path / "t4.wbr")
    assert wb.Report.load(tmp_path / "t4.wbr").launches[1] == report.launches[1]
    assert "add_kernel" in repr(wb.diff(report, wb.read_tritonparse(MI300X)))
    assert list(report.frame("launches")["count"]) == [2, 9, 1]


def test_a_folder_is_read_as_one(tmp_path: Path) -> None:
    rows = events()
    written(tmp_path / "a_rank_0_.ndjson", [{**row, "pid": 1} for row in rows])
    written(tmp_path / "a_rank_1_.ndjson", [{**row, "pid": 2} for row in rows])
    both = wb.read_tritonparse(tmp_path)
    assert (len(both.kernels), len(both.resources)) == (2, 3)
    assert both.launches[0].count == 4
    assert "written by 2 processes" in both.request.notes


def test_logs_of_several_gpus_say_which_each_configuration_is_for() -> None:
    report = wb.read_tritonparse(LOGS)
    found = [row.choice for row in report.resources if row.kernel == "k0"]
    assert found == ["BLOCK=256 on sm_75", "BLOCK=256 on gfx942", "BLOCK=1024 on sm_75"]
    assert report.request.target == "gfx942, sm_75"


def test_a_log_that_tritonparse_worked_over_stands_for_the_first(tmp_path: Path) -> None:
    written(tmp_path / "log.ndjson", events())
    (tmp_path / "log_mapped.ndjson.gz").write_bytes(T4.read_bytes())
    assert wb.read_tritonparse(tmp_path).launches[0].count == 2


def test_the_function_is_found_in_its_whole_file(report: wb.Report, tmp_path: Path) -> None:
    rows = events()
    source = rows[0]["payload"]["python_source"]
    first = source["start_line"]
    source |= {
        "code": "\n" * (first - 1) + source["code"] + "\nprint('more')\n",
        "start_line": 1,
        "function_start_line": first,
        "function_end_line": source["end_line"],
    }
    whole = wb.read_tritonparse(written(tmp_path / "whole.ndjson", rows[:1]))
    assert whole.kernels[0].text == report.kernels[0].text
    assert whole.assembly[0].lines == report.assembly[0].lines


def test_a_launch_without_its_compilation_is_a_kernel_without_code(tmp_path: Path) -> None:
    alone = wb.read_tritonparse(written(tmp_path / "l.ndjson", [events()[1]]))
    assert [kernel.name for kernel in alone.kernels] == ["add_kernel"]
    assert "no code" in str(alone.why_missing("assembly"))


def test_a_summary_counts_where_launches_are_not_in_the_log(tmp_path: Path) -> None:
    made = events()[0]
    told = {"event_type": "launch_diff", "hash": made["payload"]["metadata"]["hash"]}
    rows = [made, {**told, "total_launches": 40}]
    assert wb.read_tritonparse(written(tmp_path / "s.ndjson", rows)).kernels[0].calls == 40


def test_a_text_that_tritonparse_left_out_says_why(tmp_path: Path) -> None:
    rows = events()[:1]
    rows[0]["payload"]["file_content"]["add_kernel.ptx"] = "<file too large: 20000000 bytes>"
    (row,) = (
        row
        for row in wb.read_tritonparse(written(tmp_path / "t.ndjson", rows)).assembly
        if row.stage == "ptx"
    )
    assert (row.text, row.note) == (None, "tritonparse: file too large: 20000000 bytes")


def test_the_command_reads_it(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", str(T4)]) == 0
    assert "2 Triton kernels" in capsys.readouterr().out


@pytest.mark.parametrize("is_packed", [True, False])
def test_other_readers_name_the_one_that_opens_it(is_packed: bool, tmp_path: Path) -> None:
    path = T4 if is_packed else written(tmp_path / "t.ndjson", events())
    with pytest.raises(wb.ArtifactError, match=r"wb\.read_tritonparse"), open_any(path):
        pass
    for read in (wb.Report.load, wb.read_trace, wb.read_profile, wb.memory, wb.inspect):
        with pytest.raises(wb.WorkbenchError, match=r"wb\.read_tritonparse"):
            read(path)


def test_no_time_of_a_call_is_made_up(report: wb.Report) -> None:
    with pytest.raises(wb.UsageError, match="neither the launches of one call nor times"):
        wb.launches(report)
    assert "No rule was applied" in repr(wb.opportunities(report))
    assert (
        repr(report) == "Report(add_kernel, product_kernel, sm_75, ok, 2 kernels, 3 configurations)"
    )


def test_neither_torch_nor_triton_is_needed() -> None:
    code = (
        "import sys; sys.modules['torch'] = sys.modules['triton'] = None\n"
        f"import workbench as wb; print(len(wb.read_tritonparse({str(T4)!r}).assembly))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "13\n"


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("def f(a, b: x = (1, 2), *, c=[3]):\n", ["a", "b: x = (1, 2)", "c=[3]"]),
        ("def f(\n    a,  # one, of two\n    b,\n):\n", ["a", "b"]),
        ("def g(a):\n", []),
        ("def f(a, (", []),
        ("", []),
    ],
)
def test_parameters_are_read_without_parsing(text: str, found: list[str]) -> None:
    assert list(list_parameters(text, "f")) == found
