"""A sweep as a table, charts, a page and an answer."""

from __future__ import annotations

import itertools
import random
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from workbench.errors import UsageError
from workbench.report.trials import Trial
from workbench.worlds.sweeps.sweep import CHARTS, Sweep
from workbench.worlds.sweeps.views.spots import Spot, find_front
from workbench.worlds.sweeps.views.sweep_document import document
from workbench.worlds.sweeps.views.sweep_page import build_heat_map

AXES = {"mode": ("default", "max-autotune"), "threads": ("1", "2"), "batch": ("1", "8", "32")}


def timed(settings: dict[str, str], factor: float, **more: Any) -> Trial:
    luck = random.Random(repr(settings))
    theirs = tuple(100.0 * (1 + 0.05 * luck.random()) for _ in range(30))
    ours = tuple(factor * us * (1 + 0.05 * luck.random()) for us in theirs)
    return Trial(
        key=repr(settings),
        settings=tuple(settings.items()),
        compile_s=3.0 if settings.get("mode") == "default" else 20.0,
        first_call_s=0.002,
        call_us=sorted(ours)[15],
        baseline_us=102.0,
        speedup=1 / factor,
        speedup_low=0.97 / factor,
        speedup_high=1.03 / factor,
        peak_bytes=1_000_000,
        kernels=3,
        dram_bytes=2_000_000,
        artifact_bytes=150_000,
        difference=1e-7,
        samples_us=(ours, theirs),
        machine="a processor",
        **more,
    )


def sweep() -> Sweep:
    rows = []
    for mode, threads, batch in itertools.product(*AXES.values()):
        factor = 0.5 if mode == "max-autotune" else 0.8
        factor *= 0.9 if threads == "2" else 1.0
        rows.append(timed({"mode": mode, "threads": threads, "batch": batch}, factor))
    rows[3] = Trial("gone", rows[3].settings, status="crashed", reason="its process was ended")
    return Sweep("f", AXES, ("batch",), tuple(rows), seconds=12.0, from_store=2, expression="f")


def test_the_frame_has_axes_figures_and_reasons() -> None:
    found = sweep().frame()
    assert list(found.columns[:5]) == ["mode", "threads", "batch", "status", "reason"]
    assert found["batch"].tolist()[:3] == [1, 8, 32]
    assert found["status"].value_counts().to_dict() == {"done": 11, "crashed": 1}
    assert found["speedup"].max() == pytest.approx(1 / 0.45)


def test_the_summary_has_no_times() -> None:
    assert repr(sweep()) == ("Sweep(f over mode (2) × threads (2) × batch (3): 11 done, 1 crashed)")


def test_the_answer_is_a_sentence_and_a_line_of_code() -> None:
    found = sweep().best()
    assert found.sentence.startswith("Use mode=max-autotune, threads=2: 2.17 × (2.15 to 2.21)")
    assert "(2.15 to 2.21) at batch=1, 2.15 × (2.13 to 2.21) at batch=8" in found.sentence
    assert "mode mattered: in the clearest case, default instead of" in found.sentence
    assert found.code == ("torch.set_num_threads(2)\nwb.aot_compile(f, args, mode='max-autotune')")
    assert found.settings == {"mode": "max-autotune", "threads": "2"}


def test_a_notebook_takes_no_dollar_in_it_for_a_formula() -> None:
    """`template=^bmm$` twice in a sentence would be typeset as one."""
    found = sweep()
    for html in (found.best()._repr_html_(), found._repr_mimebundle_()["text/html"]):
        assert html.startswith('<div class="mathjax_ignore">')


@pytest.mark.parametrize("chart", CHARTS)
def test_every_chart_is_drawn(chart: str) -> None:
    figure = sweep().plot(chart)
    assert "f:" in (figure._suptitle or figure.axes[0].title).get_text() or figure.axes[
        0
    ].get_title("left").startswith("f:")


def test_a_heat_map_takes_two_axes_and_a_figure() -> None:
    found = build_heat_map(sweep(), x="batch", y="mode", metric="compile_s")
    assert found.columns == ("batch=1", "batch=8", "batch=32")
    assert [row.label for row in found.rows] == ["default", "max-autotune"]
    assert [cell.words for cell in found.rows[1].cells] == ["20.0 s"] * 3


def test_pareto_keeps_what_nothing_beats() -> None:
    spots = [Spot(name, x, y, y, y) for name, x, y in [("a", 1, 1), ("b", 2, 3), ("c", 3, 2)]]
    assert [spot.label for spot in find_front(spots)] == ["a", "b"]


def test_the_view_has_the_front_of_each_size() -> None:
    shown = document(sweep())
    assert shown["fronts"][0] == [
        "mode=default, threads=1, batch=1",  # that with two threads crashed
        "mode=max-autotune, threads=2, batch=1",
    ]
    for size, front in zip(AXES["batch"][1:], shown["fronts"][1:], strict=True):
        assert front == [
            f"mode={mode}, threads=2, batch={size}" for mode in ("default", "max-autotune")
        ]


def test_a_noisy_row_and_one_without_the_figure_are_on_no_front() -> None:
    first, second, *rest = sweep().trials
    rows = (
        replace(first, is_disturbed=True, disturbed=9, compile_s=0.1),
        replace(second, speedup=None, compile_s=0.1),
        *rest,
    )
    shown = document(replace(sweep(), trials=rows))
    ids = {id for front in shown["fronts"] for id in front}
    assert not ids & {first.title, second.title}


def test_the_page_holds_everything_and_needs_no_network(tmp_path: Path) -> None:
    text = sweep().to_html(tmp_path / "sweep.html")
    assert (tmp_path / "sweep.html").read_text() == text
    assert "crashed: its process was ended" in text
    assert text.count("data:image/png;base64,") == 4
    assert not re.search(r"(src|href)=.https?:", text)


def test_a_failed_sweep_says_where_the_reasons_are() -> None:
    gone = Sweep("f", {"mode": ("default",)}, (), (Trial("x", (("mode", "default"),), "failed"),))
    with pytest.raises(UsageError, match="column reason"):
        gone.plot("pareto")
    assert "column reason" in gone.to_html()
    assert "<img" not in gone.to_html()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"chart": "pie"}, "Choose one of: heat"),
        ({"chart": "heat", "x": "btach"}, "Unknown axis 'btach'"),
        ({"chart": "heat", "metric": "time"}, "Unknown metric 'time'"),
    ],
)
def test_a_wrong_chart_is_refused(arguments: dict[str, str], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        sweep().plot(**arguments)


def test_rows_carry_the_interval_of_their_speed_up() -> None:
    (first, *_) = document(sweep())["rows"]
    assert first["interval"] == "1.20 to 1.24"
    assert first["verdict"] == "faster"
    assert re.fullmatch(r"(\d+) of \1 pairs faster, 0 slower", first["evidence"])


def test_a_row_that_is_too_noisy_has_no_figure_that_stands_out() -> None:
    rows = [replace(sweep().trials[0], is_disturbed=True, disturbed=9), *sweep().trials[1:]]
    shown = document(replace(sweep(), trials=tuple(rows)))
    first = shown["rows"][0]
    assert first["verdict"] == "too noisy to say"
    assert first["evidence"].startswith("other work disturbed 9 of")
    assert (first["words"][0], first["interval"]) == ("noisy: 1.20 to 1.24", "")
    assert rows[0].title not in shown["best"]


def test_a_row_with_identical_code_says_whose_times_it_has() -> None:
    rows = [replace(sweep().trials[0], same_as="mode=max"), *sweep().trials[1:]]
    first = document(replace(sweep(), trials=tuple(rows)))["rows"][0]
    assert first["same_as"] == "mode=max"
    assert "identical code" in first["evidence"]
    assert first["remark"].startswith("identical code; times are from mode=max")


def test_the_best_are_the_rows_of_the_setting_to_take_one_for_each_size() -> None:
    shown = document(sweep())
    assert len(shown["best"]) == len(sweep().axes["batch"])
    assert all("mode=max-autotune, threads=2" in id for id in shown["best"])


def test_the_forest_plot_has_a_part_for_each_size_of_the_inputs() -> None:
    figure = sweep().plot("distribution")
    names = [label.get_text() for label in figure.axes[0].get_yticklabels()]
    assert [name for name in names if name.startswith("batch=")] == [
        "batch=1",
        "batch=8",
        "batch=32",
    ]
    assert names[1] == "mode=max-autotune, threads=2"


def test_what_cannot_be_saved_is_said_once_and_short() -> None:
    why = "it cannot be saved: f holds a lock of the process, which no file can hold."
    rows = [replace(row, warning=why) for row in sweep().trials]
    shown = document(replace(sweep(), trials=tuple(rows)))
    count = len(rows)
    words = f"{count} of {count} configurations cannot be saved to a file; each row has the reason."
    assert shown["notes"][-1] == words
    assert "saved" not in shown["sentence"]
    assert not any("saved" in note for note in document(sweep())["notes"])
