from __future__ import annotations

from tests.views.answers.test_alternatives_text import OP, tuned
from workbench.report.trials import Trial
from workbench.views.static_html.render import write_page
from workbench.worlds.sweeps.sweep import Sweep
from workbench.worlds.sweeps.views.sweep_page import build_blocks


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
    assert "Inside the kernels of mode=max-autotune" in text
    assert "(model)" in text
    assert "y[i] = &lt;x&gt;;" in text
