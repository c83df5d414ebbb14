"""The recorded report in `assets` opens without torch; the pictures of the pages are there."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

from docs.generate import pages
from workbench.views.wire.codec import bundle

ROOT = Path(__file__).parents[1]
_PICTURES = (".png", ".webp")
PROGRAM = """
import sys

for name in ("torch", "triton"):
    sys.modules[name] = None
import workbench as wb

report = wb.Report.load(sys.argv[1])
print(wb.show(report))
print(report.frame("resources").registers.min(), len(report.frame("matrix")))
print("stages:", *sorted(set(report.frame("assembly").stage)))
report.to_html(sys.argv[2])
"""


def test_the_recorded_report_opens_without_torch(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, ROOT / "assets" / "scores_h100.wbr", tmp_path / "a.html"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.startswith("scores (inductor, h100)")
    assert re.search(r"stages: .*\bptx\b.*\bsass\b", done.stdout)
    assert (tmp_path / "a.html").stat().st_size < 2e6


def test_the_recorded_report_names_no_machine() -> None:
    from workbench.report import Report

    report = Report.load(ROOT / "assets" / "scores_h100.wbr")
    texts = [*report.texts.values(), repr(report.environment), repr(report.request)]
    texts += [repr(row) for table in report.tables.values() for row in table]
    assert not re.findall(r"(?<![\w.])/(?:home|root|tmp|work|usr|opt)/", "".join(texts))


def test_the_pictures_that_pages_show_are_there_and_no_others() -> None:
    shown = set(pages.pictures())
    there = {f"assets/{path.name}" for path in (ROOT / "assets").iterdir() if path.is_file()}
    assert shown == there - {"assets/scores_h100.wbr", "assets/pictures.json"}


def test_the_pictures_are_of_the_front_end_of_now() -> None:
    """`make pictures` takes them; that of a sweep is measured, by its name."""
    versions = json.loads((ROOT / "assets" / "pictures.json").read_text())
    pictures = {path.stem for path in (ROOT / "assets").glob("*.*") if path.suffix in _PICTURES}
    assert versions == dict.fromkeys(pictures, bundle()[1])


def test_the_moving_picture_is_small() -> None:
    assert (ROOT / "assets" / "click.webp").stat().st_size <= 1_000_000
