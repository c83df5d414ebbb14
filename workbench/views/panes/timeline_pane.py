"""The timeline: every phase of the compilation, and where the time went in a sentence."""

from __future__ import annotations

from collections.abc import Sequence

from workbench.number_text import format_seconds
from workbench.report import Report
from workbench.views.kit.blocks import Own, Rows, Sentence
from workbench.views.panes.pane import Content, Pane, Passes, ViewContext, missing
from workbench.views.wire import report_messages as wire
from workbench.views.wire.codec import convert_row
from workbench.views.words.progress_words import find_compiler, name_own_work, name_phases

_SECOND = 0.1  # of the whole: what is less is not told


def document(report: Report, context: ViewContext) -> Content:
    """The phases; the first one starts at 0 seconds."""
    empty = missing(report, "phases", "No timeline.", "No phase was recorded.")
    start = min(report.phases.columns.get("start_s", ()), default=0.0)
    end = max((phase.start_s + phase.duration_s for phase in report.phases), default=0.0)
    whole = end - start
    side = Passes(report).phase
    phases = [
        convert_row(
            wire.Phase,
            phase,
            words=words,
            tip=words if words == phase.name else f"{words}: {phase.name}",
            start_s=round(phase.start_s - start, 6),
            side=side(phase),
            share=phase.duration_s / whole if whole else 0.0,
        )
        for phase, words in zip(report.phases, name_phases(report), strict=True)
    ]
    sentence = tell_time(phases, find_compiler(report)) if phases else ""
    blocks = [
        Sentence(sentence),
        Own("timeline"),
        Rows("phases", "Phases by self time", phases, frame="phases", order="self"),
    ]
    data = {"phases": phases, "phases_said": sentence}
    return Content(data, empty=None if phases else empty, blocks=blocks if phases else ())


def tell_time(phases: Sequence[wire.Phase], compiler: str | None) -> str:
    """Where the time of the thread that was compiling went: the largest part and the next.

    What other threads do at the same time is not added.
    """
    whole = max(phase["start_s"] + phase["duration_s"] for phase in phases)
    by_words: dict[str, float] = {}
    for phase in phases:
        if phase["thread"] == phases[0]["thread"]:
            words = name_own_work(phase["name"], compiler)
            by_words[words] = by_words.get(words, 0.0) + phase["self_s"]
    (first, most), *others = sorted(by_words.items(), key=lambda part: -part[1])
    text = f"{format_seconds(most)} of {format_seconds(whole)}: {first}"
    if others and others[0][1] > _SECOND * whole:
        text += f"; {format_seconds(others[0][1])}: {others[0][0]}"
    return f"{text}."


PANE = Pane("timeline", "Compile time", document)
