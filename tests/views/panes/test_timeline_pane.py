from __future__ import annotations

from pathlib import Path

import pytest

from workbench.report import Report
from workbench.report.rows import Kernel
from workbench.report.rows import Phase as Timed
from workbench.report.table import Table
from workbench.views.document import document
from workbench.views.panes.timeline_pane import tell_time
from workbench.views.wire.report_messages import Phase
from workbench.views.words.progress_words import describe_phase, name_phases

RECORD = Report.load(Path(__file__).parents[2] / "records" / "convolutions.wbr")


def phase(name: str, words: str, start: float, seconds: float, thread: str = "main") -> Phase:
    more = {"id": "p0", "depth": 0, "side": "", "self_s": seconds, "thread": thread}
    return {"name": name, "words": words, "start_s": start, "duration_s": seconds, **more}  # type: ignore[typeddict-item]


@pytest.mark.parametrize(
    ("compiler", "said"),
    [
        ("g++", "27.6 s of 35.5 s: waiting for g++; 5.40 s: reading your code."),
        (None, "27.6 s of 35.5 s: compiling; 5.40 s: reading your code."),
    ],
)
def test_the_largest_part_is_said_first(compiler: str | None, said: str) -> None:
    phases = [
        phase("bytecode_tracing", "reading your code", 0.0, 5.4),
        phase("async_compile.wait", "compiling", 7.9, 27.6),
        phase("async_compile.precompile: k0", "compiling one kernel", 8.0, 90.0, "worker"),
    ]
    phases[2]["duration_s"] = 20.0
    assert tell_time(phases, compiler) == said


def test_phases_have_plain_names_and_a_record_its_sentence() -> None:
    shown = document(RECORD)
    words = {row["name"]: row["words"] for row in shown["phases"]}
    assert words["Scheduler.codegen"] == "writing kernels"
    assert words["compile_file"] == "compiling C++"
    assert words["pass.post_grad_passes.pass_pattern_1"] == "graph pass: pass pattern 1"
    assert shown["phases_said"].startswith("1.87 s of 4.95 s: writing kernels; 69")


def test_what_no_phase_tells_of_is_not_said_to_be_the_whole_compilation() -> None:
    phases = [
        phase("compile", "the whole compilation", 0.0, 1.4),
        phase("compile_attempt_1", "reading your code", 0.1, 2.6),
    ]
    phases[0]["duration_s"] = 4.0
    assert tell_time(phases, None) == ("2.60 s of 4.00 s: reading your code; 1.40 s: other work.")


@pytest.mark.parametrize(
    "name", ["dynamo", "entire_frame_compile", "compile_attempt_1", "fullgraph_capture", "compile"]
)
def test_phases_of_dynamo_have_plain_names_too(name: str) -> None:
    assert name_of(name) != name
    assert "_" not in name_of(name)


@pytest.mark.parametrize("name", ["backend_compile", "gc", "TritonBundler.collect"])
def test_phases_that_were_called_as_torch_does_have_names_too(name: str) -> None:
    assert name_of(name) != name


def timed(name: str, thread: str = "main") -> Timed:
    return Timed("p0", name, 0.0, 1.0, 0, 1.0, thread)


def named(*phases: Timed, language: str = "cpp") -> list[str]:
    kernel = Kernel("k3", "cpp_fused_add_0", language, "g0")
    tables = {"phases": Table.of(Timed, phases), "kernels": Table.of(Kernel, [kernel])}
    return name_phases(Report(tables=tables))


def name_of(name: str) -> str:
    return named(timed(name))[0]


def test_what_is_built_is_named_and_the_thread_that_waits_says_so() -> None:
    """Seen: "compiling one kernel" in seven rows, and "compiling" for a wait of 18.6 s."""
    assert named(
        timed("async_compile.wait"),
        timed("compile_file", "worker 1"),
        timed("build: cpp_fused_add_0", "worker 1"),
        timed("async_compile.precompile: cpp_fused_add_0", "worker 1"),
    ) == ["waiting for g++", "compiling C++", "building k3", "compiling k3"]
    alone = named(timed("async_compile.wait"), timed("async_compile.precompile: other"))
    assert alone == ["compiling", "compiling one kernel"]
    assert describe_phase("build: cpp_fused_add_0") == "building one kernel"
