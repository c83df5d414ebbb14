from __future__ import annotations

import base64
import gzip
import json
import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from sample_report import make
from wire_types import mismatches

from workbench.report import Outcome, Report
from workbench.views.pages.packed_report import SCRIPT_BYTES
from workbench.views.presenters import VIEWS
from workbench.views.static_html.render import PLAIN
from workbench.views.wire import report_messages as wire

RECORDS = Path(__file__).parents[2] / "records"
VOID = {"meta", "br", "img"}


class Tags(HTMLParser):
    """Every tag must be closed in order; attributes are collected."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: set[str] = set()
        self.attributes: list[tuple[str, str | None]] = []
        self.feed(text)
        assert not self.open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.add(tag)
        self.attributes += attrs
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag not in VOID:
            assert self.open.pop() == tag


@pytest.mark.parametrize("make", [VIEWS.page, VIEWS.fragment])
def test_tags_are_closed_and_nothing_is_fetched(sample_report: Report, make: object) -> None:
    text = make(sample_report)  # type: ignore[operator]
    tags = Tags(text)
    assert ("script" in tags.seen) == (make == VIEWS.page)
    names = {name for name, _ in tags.attributes}
    assert not {name for name in names if name.startswith("on")}
    sources = [value or "" for name, value in tags.attributes if name == "src"]
    assert all(value.startswith("data:image/svg+xml;base64,") for value in sources)
    assert not re.search(r"https?://|url\(", text)


def test_sources_are_escaped(sample_report: Report) -> None:
    for text in (VIEWS.page(sample_report), VIEWS.fragment(sample_report)):
        assert "<b>not bold</b>" not in text
        assert "&lt;b&gt;not bold&lt;/b&gt;" in text


def test_hostile_names_are_escaped_everywhere(sample_report: Report) -> None:
    evil = '"><img src=x onerror=alert(1)>'
    tables = dict(sample_report.tables)
    for name, table in tables.items():
        columns = {
            column: [evil if isinstance(v, str) and column not in FIXED else v for v in values]
            for column, values in table.columns.items()
        }
        tables[name] = replace(table, columns=columns)
    request = replace(sample_report.request, name=evil, inputs=(evil,), notes=(evil,))
    hostile = replace(sample_report, tables=tables, request=request)
    for text in (VIEWS.page(hostile), VIEWS.fragment(hostile)):
        assert not any(name.startswith("on") for name, _ in Tags(text).attributes)
        assert "<img src=x" not in text


FIXED = {"id", "graph", "verdict", "phase", "stage", "language", "lines", "outcome"}


def test_the_fragment_needs_no_style_sheet(sample_report: Report) -> None:
    tags = Tags(VIEWS.fragment(sample_report))
    assert not {"style", "svg", "iframe"} & tags.seen
    assert {"img", "pre", "details"} <= tags.seen
    assert {value for name, value in tags.attributes if name == "class"} == {PLAIN}


def test_all_panes_are_on_the_page(sample_report: Report) -> None:
    text = VIEWS.page(sample_report)
    ids = (
        *("overview", "graphs", "breaks", "fusion", "kernels", "timeline", "autotune"),
        *("roofline", "memory", "matrix", "artifact"),
    )
    assert all(f'<section id="{name}">' in text for name in ids)
    assert "<code>report.frame('kernels')</code>" in text


SECRETS = ("torch.relu(x + 1)", "vectorised", "h.abs()", "heads == 16", "TensorVariable")


def embedded_record(text: str) -> Any:
    packed = re.search(r'class="wb-record">([^<]*)<', text)
    assert packed is not None
    return json.loads(gzip.decompress(base64.b64decode(packed[1])))


def test_the_page_carries_the_document_and_its_parts(sample_report: Report) -> None:
    record = embedded_record(VIEWS.page(sample_report))
    assert mismatches(record["document"], wire.Document) == []
    assert {"code:k0", "wrapper:w0", "graph:g0", "changes:g0:g1"} <= set(record["parts"])
    assert record["left_out"] == {}


def test_the_page_carries_scripts_of_the_kernels_that_cost_most() -> None:
    training = Report.load(RECORDS / "training.wbr")
    parts = embedded_record(VIEWS.page(training))["parts"]
    scripts = {name: part for name, part in parts.items() if name.startswith("script:")}
    assert scripts.keys() == {"script:k1", "script:k3", "script:k4", "script:k9"}
    assert scripts["script:k1"]["text"] == training.kernel_script("k1")
    assert len(training.kernel_script("k7")) > SCRIPT_BYTES


def test_a_script_that_cannot_be_made_is_not_carried(sample_report: Report) -> None:
    parts = embedded_record(VIEWS.page(sample_report))["parts"]
    assert not any(name.startswith("script:") for name in parts)
    redacted = embedded_record(VIEWS.page(Report.load(RECORDS / "training.wbr"), redact=True))[
        "parts"
    ]
    assert not any(name.startswith("script:") for name in redacted)


def test_the_same_report_gives_the_same_page(sample_report: Report) -> None:
    assert VIEWS.page(sample_report) == VIEWS.page(make())


def test_redaction_drops_sources_and_says_so(sample_report: Report) -> None:
    text = VIEWS.page(sample_report, redact=True)
    assert not any(secret in text for secret in SECRETS)
    record = embedded_record(text)
    assert not set(SECRETS) & set(re.findall("|".join(map(re.escape, SECRETS)), json.dumps(record)))
    assert record["document"]["notes"][0]["title"] == "Dropped before sharing:"
    assert "Dropped before sharing" in text
    assert "the text of 1 function" in text
    assert "cpp_fused_add_mul_relu_0" in text or "k0" in text


def test_the_page_is_written(sample_report: Report, tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    text = sample_report.to_html(path)
    assert path.read_text(encoding="utf-8") == text


def test_a_failure_stands_first(sample_report: Report) -> None:
    failed = replace(sample_report, outcome=Outcome(False, "capture", "Unsupported\nmore"))
    text = VIEWS.fragment(failed)
    assert "failed in capture" in text
    assert "Failed in capture." in text


def test_an_empty_report_has_a_page() -> None:
    Tags(VIEWS.page(Report()))
    Tags(VIEWS.fragment(Report()))
