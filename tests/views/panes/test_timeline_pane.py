from __future__ import annotations

from pathlib import Path

import pytest

from workbench.report import Report
from workbench.views.document import document
from workbench.views.panes.timeline_pane import tell_time
from workbench.views.wire.report_messages import Phase

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
        phase("compile", "reading your code", 0.0, 5.4),
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
    assert words["pass.post_grad_passes.pass_pattern_1"] == "a pass over the graph: pass pattern 1"
    assert shown["phases_said"].startswith("1.87 s of 4.95 s: writing kernels; 69")
