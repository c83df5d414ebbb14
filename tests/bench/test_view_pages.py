from pathlib import Path

from tests.bench.view_pages import whole_page
from workbench.report import Report

BLOCK = Report.load(Path(__file__).parents[1] / "records" / "block.wbr")


def test_a_page_has_its_record_and_the_front_end(tmp_path):
    text = whole_page(BLOCK, tmp_path / "page.html").read_text(encoding="utf-8")
    assert text.startswith("<!doctype html>")
    assert len(text) > 300_000  # the front end is in it
