"""Winner and runner-up of the autotuner, and every choice of a sweep as a table."""

from __future__ import annotations

from dataclasses import replace

from tests.sample_report import make
from workbench.report import AutotuneChoice, Report, Table, TextWriter
from workbench.report.trials import Trial
from workbench.views.static_html.render import write_page
from workbench.worlds.sweeps.sweep import Sweep
from workbench.worlds.sweeps.views.sweep_page import build_blocks

OP = "bmm(4x16x64, 4x64x64)"
MODEL = "estimated by a model, not timed"


def tuned(note: str | None = None) -> Report:
    texts = TextWriter()
    cpp, call = texts.add("for (i = 0; i < 8; ++i)\n    y[i] = <x>;"), texts.add("extern.bmm")
    rows = [
        AutotuneChoice("a0", OP, "bmm", "library", 0.02, False, note, call),
        AutotuneChoice("a1", OP, "cpp_0", "cpp template", 0.016, True, note, cpp),
        AutotuneChoice("a2", OP, "cpp_1", "cpp template", None, False, "failed"),
    ]
    tables = {**make().tables, "autotune": Table.of(AutotuneChoice, rows)}
    return replace(make(), tables=tables, texts=texts.finish())


def test_the_codes_stand_beside_each_other() -> None:
    (found,) = tuned().rivals()
    assert repr(found) == (
        f"{OP}: cpp_0 (cpp template) takes 16.0 µs; bmm (library), the next, takes 20.0 µs, each "
        "timed once by Inductor's autotuner."
        "\n--- cpp_0\nfor (i = 0; i < 8; ++i)\n    y[i] = <x>;\n--- bmm\nextern.bmm"
    )
    assert "y[i] = &lt;x&gt;;" in found._repr_html_()
    assert found.difference().changed == 2


def test_a_model_is_named() -> None:
    (found,) = tuned(MODEL).rivals()
    assert found.is_model
    assert "by a cost model, nothing was timed" in repr(found)


def test_every_choice_of_a_sweep_is_a_row() -> None:
    trials = (
        Trial("a", (("mode", "max-autotune"),), report="1"),
        Trial("b", (("mode", "default"),), status="failed"),
    )
    sweep = Sweep(
        "f", {"mode": ("max-autotune", "default")}, (), trials, read=lambda _: tuned().to_bytes()
    )
    found = sweep.choices()
    timed = found[found["op"] == OP]
    assert timed["choice"].tolist() == ["bmm", "cpp_0", "cpp_1"]
    assert timed["against_best"].tolist()[:2] == [1.25, 1.0]
    assert timed["why"].tolist()[2] == "failed"
    ranked = found[found["kind"] == "triton config"]
    assert ranked["is_model"].all()
    assert set(found["mode"]) == {"max-autotune"}
    assert sweep.rivals(0)[0].winner.choice == "cpp_0"
    text = write_page(build_blocks(sweep))
    assert "Inside of the kernels of mode=max-autotune" in text
    assert "(model)" in text
    assert "y[i] = &lt;x&gt;;" in text
