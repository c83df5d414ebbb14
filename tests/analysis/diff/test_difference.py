"""What a diff answers: text, tables, sources, a page."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import workbench as wb
from tests.diffs import RECORDS, diff, recorded
from workbench.analysis.diff.difference import MEASURED, PARTS


def test_the_text_is_short_stable_and_has_no_times() -> None:
    text = repr(diff("static", "dynamic"))
    assert text == repr(diff("static", "dynamic"))
    assert text.startswith(
        "Diff(static → dynamic)\n  a: Block, host\n  b: Block, host\n- Neither is better: the"
    )
    assert len(text.split("\n")) < 45
    assert max(map(len, text.split("\n"))) <= 100
    assert "Compil" not in text
    assert " ms" not in text


def test_frames_have_a_row_for_each_difference() -> None:
    found = diff("static", "dynamic")
    assert list(found.frame().columns) == [
        "part",
        "item",
        "change",
        "a",
        "b",
        "unit",
        "note",
        "id_a",
        "id_b",
    ]
    assert sum(len(found.frame(part)) for part in PARTS) == len(found.frame())
    assert list(found.frame("kernels")["id_a"]) == ["k0", "k2", "k4"]
    traffic = diff("h100", "apart").frame("traffic")
    assert (traffic["b"] > traffic["a"]).all()
    with pytest.raises(wb.UsageError, match=r"Unknown part 'kernel'\. Choose one of: outcome"):
        found.frame("kernel")


def test_only_what_is_no_measurement_makes_two_compilations_differ() -> None:
    found = diff("static", "again")
    assert found.is_same
    assert {change.part for change in found.changes} <= set(MEASURED)
    assert "Only measured times may differ." in repr(found)
    assert not diff("static", "dynamic").is_same


def test_sentences_begin_with_what_was_asked_for() -> None:
    verdict, first, second, *_ = diff("h100", "apart").sentences
    assert verdict.startswith("Worse in b: ")
    assert "kernels 5 → 9" in verdict
    assert first == "The requests differ: max_fusion_size – → 1."
    assert second.startswith("9 kernels instead of 5: k0 (native_layer_norm) became k0, k1 and k2")
    assert "exceeds max fusion" in second


def test_reports_objects_and_files_can_be_compared(tmp_path: Path) -> None:
    class Sweep:
        report = recorded("dynamic")

    found = wb.diff(RECORDS / "static.wbr", Sweep())
    assert found.names == ("static.wbr", "Block")
    assert wb.diff(Sweep(), Sweep()).names == ("a", "b")
    assert wb.diff(Sweep(), Sweep(), names=("one", "two")).names == ("one", "two")
    page = tmp_path / "diff.html"
    assert found.to_html(page) == page.read_text()


def test_a_diff_shows_itself() -> None:
    found = diff("static", "again")
    assert wb.show(found) is found


def test_comparing_files_imports_no_torch() -> None:
    program = (
        "import sys, workbench as wb\n"
        f"print(len(wb.diff({str(RECORDS / 'static.wbr')!r}, {str(RECORDS / 'h100.wbr')!r})"
        ".changes) > 9, 'torch' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout == "True False\n", done.stderr
