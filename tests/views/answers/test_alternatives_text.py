from __future__ import annotations

from dataclasses import replace

from tests.sample_report import make
from workbench.report import AutotuneChoice, Report, Table, TextWriter

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
        f"{OP}: cpp_0 (cpp template) takes 16.0 µs; the next, bmm (library), takes 20.0 µs. "
        "Inductor's autotuner timed each choice once."
        "\n--- cpp_0\nfor (i = 0; i < 8; ++i)\n    y[i] = <x>;\n--- bmm\nextern.bmm"
    )
    assert "y[i] = &lt;x&gt;;" in found._repr_html_()
    assert found.difference().changed == 2


def test_a_model_is_named() -> None:
    (found,) = tuned(MODEL).rivals()
    assert found.is_model
    assert "by a cost model (not timed)" in repr(found)
