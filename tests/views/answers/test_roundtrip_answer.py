"""A round trip as text, as HTML, in the pane and in a live view."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
import sample_file
from view_mail import Mailbox
from wire_types import mismatches

from workbench.report import Report
from workbench.report.roundtrip import MissedBudget, RoundTrip
from workbench.report.table import Table
from workbench.views.document import ViewContext, document
from workbench.views.panes.artifact_pane import file_of
from workbench.views.presenters import VIEWS
from workbench.views.widgets.display import show
from workbench.views.wire import report_messages as wire

EXPECTED = """\
block: round trip of 133 kB, ok
  Start-up mode               Imports     Load  First call  First result   Least     p50     p99  Calls  Peak RSS  Against eager
  eager                             –  2.00 ms     21.0 ms       23.0 ms  192 µs  192 µs  260 µs    200    248 MB  bit-exact
  torch.compile, empty cache   1.71 s  92.0 ms      13.4 s        15.2 s  121 µs  121 µs  170 µs    200    611 MB  within 1.5e-7
  torch's loader                    –        –           –             –       –       –       –      –         –  did not run
      torch cannot save it: PackageError: ID_MATCH guard cannot be serialized.
  ours                         310 ms  63.8 ms     1.20 ms        375 ms  118 µs  118 µs  151 µs    200    262 MB  within 1.5e-7
- one run
- Each start-up mode ran once, in its own process: no verdict on speed.
  eager: 922 ms from process start to the first result, then 192 µs a call
    start the process   45.0 ms |██                                      |
    import torch         850 ms | ██████████████████████████████████████ |
    make the inputs     4.00 ms |                                      █ |
    make the module     2.00 ms |                                       █|
    first call          21.0 ms |                                       █|
"""  # noqa: E501


@pytest.fixture
def trip() -> RoundTrip:
    rows = sample_file.rows()
    return RoundTrip(
        name="block",
        file="block.aot",
        size=132_904,
        digest="sha256:" + "3f" * 32,
        ways=tuple(rows["roundtrip"]),
        phases=tuple(rows["roundtrip_phases"]),
        leaves=tuple(rows["roundtrip_leaves"]),
        notes=("one run",),
    )


def test_the_text_is_an_aligned_waterfall(trip: RoundTrip) -> None:
    lines = repr(trip).splitlines()
    expected = EXPECTED.splitlines()
    assert lines[: len(expected)] == expected
    bars = [line for line in lines if line.endswith("|")]
    assert len({(line.index("|"), len(line)) for line in bars}) == 1


def test_the_html_needs_no_script(trip: RoundTrip) -> None:
    html = trip._repr_html_()
    assert "<script" not in html
    assert "<style" not in html
    assert html.count("<details") == 3
    assert "did not run" in html
    assert "torch cannot save it: PackageError" in html
    assert "15.2 s" in html


def test_a_missed_budget_says_by_how_much() -> None:
    assert repr(MissedBudget("first_call", 0.25, 0.1)) == (
        "first call (first_call): 250 ms, 150 ms over the budget of 100 ms, 2.50× the budget"
    )


def test_the_pane_shows_ways_phases_and_the_file(sample_report: Report) -> None:
    shown = document(sample_report)["file"]
    assert shown["advice"] is None
    assert [(way["name"], way["ran"]) for way in shown["ways"]] == [
        ("eager", True),
        ("compile_cold", True),
        ("torch", False),
        ("ours", True),
    ]
    ours = shown["ways"][-1]
    assert ours["phases"][-1]["id"] == "Z:ours:first_call"
    assert ours["against"] == "within 1.5e-7"
    assert [need["verdict"] for need in shown["requirements"]] == ["pass", "warn", "fail"]
    assert file_of(sample_report) == ("~/models/block.aot", 132_904)
    assert document(sample_report)["figures"][-1]["value"] == "133 kB"


def test_before_there_is_a_file_the_pane_says_how_to_get_one(sample_report: Report) -> None:
    def without(*names: str) -> Report:
        kept = {n: table for n, table in sample_report.tables.items() if n not in names}
        return replace(sample_report, tables=kept)

    nothing = without("artifact", "members", "contract", "requirements", "roundtrip")
    words = document(nothing)["file"]["advice"] or ""
    assert "`compiled.save(path)` writes a file" in words
    assert "`wb.roundtrip(compiled, args)`" in words
    assert "compiled.save(path)" in VIEWS.page(nothing)
    only_saved = document(without("roundtrip"))["file"]["advice"] or ""
    assert only_saved.startswith("`wb.roundtrip(compiled, args)` times")
    saved = document(nothing, ViewContext(saved=("block.aot", 1)))["file"]["advice"] or ""
    assert saved == only_saved


def test_the_static_views_have_it_too(sample_report: Report) -> None:
    for html in (VIEWS.page(sample_report), VIEWS.fragment(sample_report)):
        assert "Does it load on this machine?" in html
        assert "torch.compile, empty cache" in html
        assert "signed by you" in html


class Growing:
    """Stands for something compiled, whose report learns of a file."""

    def __init__(self, report: Report) -> None:
        self.report = report
        self.listeners: list[Callable[[Report, Report], bool]] = []

    def listen(self, listener: Callable[[Report, Report], bool]) -> None:
        self.listeners.append(listener)

    def note(self, report: Report) -> None:
        before, self.report = self.report, report
        self.listeners = [hears for hears in self.listeners if hears(before, report)]


def test_a_live_view_shows_what_is_learned_later(sample_report: Report) -> None:
    kept = {n: table for n, table in sample_report.tables.items() if n != "roundtrip"}
    growing = Growing(replace(sample_report, tables=kept))
    view = show(growing).live()
    mail = Mailbox(view)
    assert mail.ask("document")[1]["file"]["ways"] == []
    growing.note(sample_report)
    assert view.revision == 1
    answer, made = mail.ask("document")
    assert answer["error"] is None
    assert len(made["file"]["ways"]) == 4
    assert mismatches(made, wire.Document) == []
    other = replace(sample_report, outcome=replace(sample_report.outcome, ok=False))
    view.present(other, ViewContext())
    growing.note(growing.report)
    assert mail.ask("document")[1]["verdict"].startswith("failed")
    view.close()
    growing.note(sample_report)
    assert growing.listeners == []


def test_long_lists_of_members_are_counted(sample_report: Report) -> None:
    members = sample_report.tables["members"]
    cut = Table(members.row_type, members.columns, omitted=7)
    report = replace(sample_report, tables={**sample_report.tables, "members": cut})
    assert document(report)["omitted"]["members"] == 7
