"""The static output of a notebook, and the parts of a report that fit into it."""

from __future__ import annotations

import base64
import gzip
import json
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import workbench as wb
from tests.bench import bench_notebook
from tests.big_report import big_report
from workbench.errors import UsageError
from workbench.report import Guard, Report, Table
from workbench.views.document import ViewContext, document
from workbench.views.pages.packed_report import CELL_BYTES, embedded, list_part_names
from workbench.views.pages.report_page import build_document
from workbench.views.parts.report_parts import Parts
from workbench.views.presenters import VIEWS
from workbench.views.static_html.render import keep, loader
from workbench.views.widgets.display import Carrier, Shown, show
from workbench.views.wire.codec import bundle, pack

BLOCK = Report.load(Path(__file__).parents[2] / "records" / "block.wbr")


@pytest.fixture(autouse=True)
def default_options() -> Iterator[None]:
    yield
    wb.options.embed = "full"


def record_of(html: str) -> Any:
    packed = re.search(r'class="wb-record">([^<]*)<', html)
    assert packed is not None
    return json.loads(gzip.decompress(base64.b64decode(packed[1])))


def carries(html: str) -> bool:
    return bundle()[0] in html


def test_parts_that_are_looked_at_first_come_first() -> None:
    names = list(list_part_names(BLOCK))
    assert names[:3] == ["graph:g7", "graph:g0", "code:k0"]
    assert {"wrapper:w0", "changes:g6:g7", "table:fusion"} <= set(names)
    assert len(names) == len(set(names))


def test_everything_of_a_small_report_fits() -> None:
    made = embedded(BLOCK, document(BLOCK), "full", CELL_BYTES)
    assert set(made["parts"]) == set(list_part_names(BLOCK))
    assert made["left_out"] == {}


def test_what_does_not_fit_is_left_out_and_says_why() -> None:
    made = embedded(BLOCK, document(BLOCK), "full", 16_000)
    assert made["parts"]
    assert "exceeds the limit of 16.0 kB" in made["left_out"]["wrapper:w0"]
    assert len(pack(made, 9)) * 4 / 3 < 16_000 + 2_000  # the sentences that say so


def test_light_keeps_the_document_only() -> None:
    made = embedded(BLOCK, document(BLOCK), "light", CELL_BYTES)
    assert made["parts"] == {}
    assert "options.embed = 'light'" in made["left_out"]["code:k0"]


def test_none_keeps_the_summary_only() -> None:
    assert keep(build_document(BLOCK, ViewContext()), embed="none") == VIEWS.fragment(BLOCK)


def test_a_cell_stays_small_whatever_the_report() -> None:
    rows = [
        Guard(f"q{n}", True, "EQUALS_MATCH", f"L['x{n * 7919}']", (f"L['x'] == {n * n}",))
        for n in range(60_000)
    ]
    big = replace(BLOCK, tables={**BLOCK.tables, "guards": Table.of(Guard, rows)})
    html = keep(build_document(big, ViewContext()), carries_bundle=False)
    assert len(html.encode()) < CELL_BYTES
    kept = record_of(html)["document"]
    assert len(kept["guards"]) + kept["omitted"]["guards"] == 60_000
    assert len(kept["kernels"]) == 16


def test_a_cell_stays_small_with_thousands_of_kernels() -> None:
    html = keep(build_document(big_report(20_000), ViewContext()), carries_bundle=False)
    assert len(html.encode()) < CELL_BYTES
    kept = record_of(html)
    assert len(kept["document"]["kernels"]) > 3_000
    assert 0 < len(kept["parts"]) < len(kept["document"]["kernels"])
    assert len(kept["left_out"]) == 50  # the front end has a sentence for the others


def test_a_part_that_cannot_fit_is_not_even_made(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[str] = []
    build = Parts.__call__
    monkeypatch.setattr(
        Parts, "__call__", lambda self, name: [made.append(name), build(self, name)][1]
    )
    big = big_report(20_000)
    kept = embedded(big, document(big), "full", 160_000)
    assert "graph:g0" in kept["left_out"]
    assert "graph:g0" not in made
    assert len(made) < len(kept["parts"]) + 10


def test_the_same_report_gives_the_same_output() -> None:
    first, second = (keep(build_document(BLOCK, ViewContext())) for _ in range(2))
    assert first == second


def test_the_script_cannot_end_its_own_element() -> None:
    assert "</" not in loader()
    assert "</" not in bundle()[0]


def test_options_refuse_what_they_do_not_know() -> None:
    with pytest.raises(UsageError, match="'full', 'light', 'none'"):
        wb.options.embed = "all"
    with pytest.raises(UsageError, match=r"Unknown option 'size'.*embed"):
        wb.options.size = 3
    assert repr(wb.options) == "Options(embed='full')"


def test_one_cell_carries_the_front_end() -> None:
    carrier = Carrier()

    def keep(cell: str, run: str, html: str = '<script class="wb-record">') -> bool:
        return carrier.keep(lambda carries: f"{carries} {html}", cell, run).startswith("True")

    keep("none", "run 0", html="<p>embed is none</p>")  # without a record it carries none
    assert keep("one", "run 1")
    assert not keep("one", "run 1")  # a second view of the same run
    assert not keep("two", "run 2")
    assert keep("one", "run 3")  # its output was replaced
    assert not keep("two", "run 4")


def test_a_view_after_outputs_that_are_kept_short_carries_the_front_end(
    shell: Shell, sample_report: Report, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(wb.options, "embed", "none")
        show(sample_report)._ipython_display_()
    show(sample_report)._ipython_display_()
    short, whole = (data["text/html"] for data in shell.published[1::2])
    assert not carries(short)
    assert carries(whole)


class Shell:
    """A kernel's shell that keeps what was published."""

    def __init__(self) -> None:
        self.kernel = object()
        self.published: list[dict[str, Any]] = []
        self.display_pub = SimpleNamespace(publish=self.publish)
        self.parent_header = {"metadata": {"cellId": "a"}, "header": {"msg_id": "1"}}

    def publish(self, data: dict[str, Any], metadata: dict[str, Any]) -> None:
        self.published.append(data)


@pytest.fixture
def shell(monkeypatch: pytest.MonkeyPatch) -> Shell:
    made, own = Shell(), Carrier()
    monkeypatch.setattr("builtins.get_ipython", lambda: made, raising=False)
    monkeypatch.setattr("workbench.views.widgets.display.carrier", lambda: own)
    return made


def test_a_notebook_gets_two_outputs(shell: Shell, sample_report: Report) -> None:
    show(sample_report)._ipython_display_()
    live, static = shell.published
    assert set(live) == {"application/vnd.jupyter.widget-view+json", "text/plain"}
    assert live["text/plain"] == ""
    assert set(static) == {"text/html", "text/plain"}
    assert carries(static["text/html"])


def test_the_second_view_finds_the_front_end_in_the_page(
    shell: Shell, sample_report: Report
) -> None:
    show(sample_report)._ipython_display_()
    shell.parent_header = {"metadata": {"cellId": "b"}, "header": {"msg_id": "2"}}
    show(sample_report)._ipython_display_()
    assert [carries(data.get("text/html", "")) for data in shell.published] == [
        False,
        True,
        False,
        False,
    ]


def test_a_view_that_is_on_the_page_already_is_not_shown_again(
    shell: Shell, sample_report: Report
) -> None:
    from workbench.views.widgets.report_view import View

    view = View()
    show(sample_report, view=view)._ipython_display_()
    (static,) = shell.published
    assert "text/html" in static
    assert view.revision == 1


def test_the_option_holds_for_what_is_shown_later(shell: Shell, sample_report: Report) -> None:
    wb.options.embed = "none"
    show(sample_report)._ipython_display_()
    assert "<script" not in shell.published[1]["text/html"]


def test_outside_a_notebook_ipython_takes_the_text(
    monkeypatch: pytest.MonkeyPatch, sample_report: Report
) -> None:
    terminal = SimpleNamespace()
    monkeypatch.setattr("builtins.get_ipython", lambda: terminal, raising=False)
    with pytest.raises(NotImplementedError):
        Shown(sample_report)._ipython_display_()


class Guards:
    """Stands in for the guards of a compiled call."""

    dtypes = ("float32",)
    why_not = None
    inputs = (SimpleNamespace(to_json=lambda: {"path": "L['x']"}),)

    def __call__(self, question: Any) -> Any:
        return {"ok": True, "failed": None, "guard": None, "checked": 1}


def test_a_live_object_lets_its_guards_be_tried(shell: Shell, sample_report: Report) -> None:
    shown = show(SimpleNamespace(report=sample_report, guard_sandbox=Guards()))
    alive = {"inputs": [{"path": "L['x']"}], "dtypes": ["float32"], "why_not": None}
    assert (shown.context.variable, shown.context.sandbox) == ("compiled", alive)
    assert shown.live()._answer("guard-check", {"inputs": []})["ok"]
    kept = record_of(shown.saved(shell)["text/html"])["document"]["sandbox"]
    assert "Run the cell again" in kept["why_not"]
    assert show(sample_report).context.variable == "report"


def test_copied_code_names_the_record(sample_report: Report, tmp_path: Path) -> None:
    assert document(sample_report)["variable"] == "report"
    shown = show(SimpleNamespace(report=sample_report), ViewContext("_7"))
    assert document(sample_report, shown.context)["variable"] == "_7.report"
    assert document(sample_report, show(sample_report).context)["variable"] == "report"
    loaded = record_of(VIEWS.page(sample_report))["document"]["variable"]
    assert loaded == 'wb.Report.load("block.wbr")'


def test_a_notebook_of_ten_compilations_stays_small() -> None:
    cell, notebook = bench_notebook.sizes(BLOCK)
    assert cell.passed, cell.row()
    assert notebook.passed, notebook.row()
