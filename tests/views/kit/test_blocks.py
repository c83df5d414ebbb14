"""One document of blocks, drawn where no script runs and in a terminal."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from workbench.errors import UsageError
from workbench.report.presenter import Presented, presenter
from workbench.views import presenters
from workbench.views.kit.blocks import (
    SUMMARIES,
    Action,
    Beside,
    Block,
    Card,
    Changes,
    Chart,
    Code,
    Columns,
    Composed,
    Document,
    Facts,
    Few,
    Field,
    Fold,
    Heading,
    Heat,
    Items,
    Listings,
    OnPage,
    Own,
    Place,
    Rows,
    Section,
    Sentence,
    Table,
    Timeline,
    Tree,
    Waterfall,
    write_text,
)
from workbench.views.kit.sheet import HeatCell, HeatMap, HeatRow
from workbench.views.kit.shown import Shown
from workbench.views.static_html.render import keep, summarize, write_page
from workbench.views.tables.column import Column
from workbench.views.widgets import display
from workbench.views.wire.report_messages import Source

COLUMNS = (Column("Name", "name", "code"), Column("Calls", "calls", "count"))
ROWS = [{"name": f"k{n}", "calls": n + 1} for n in range(200)]
HEAT = HeatMap("times", ("1 warp",), (HeatRow("a", (HeatCell(0.5, "3 µs"),)),), "best on top")
DRAWN = SimpleNamespace(
    bars=(), ticks=((10.0, "1 ms"),), first=1, last=9, width=900, height=160, parts=()
)
LINES: Source = {
    "id": "s0",
    "file": "f.py",
    "name": "f",
    "kind": "function",
    "first": 1,
    "lines": ["h = relu(x)"],
    "marks": [
        {
            "id": "L:s0:1",
            "state": "captured",
            "said": "",
            "kernels": ["k0"],
            "cost": {"bytes": 8.0},
            "called_in": [],
            "notes": [],
        }
    ],
}
MEMBERS = [{"name": "payload", "short": "payload", "what": "code", "size": 3}]
EACH: list[tuple[Block, str]] = [
    (Sentence("<It> works."), "<p>&lt;It&gt; works.</p>"),
    (Sentence("Quiet.", "muted"), ">Quiet.</p>"),
    (Sentence("Loud.", "strong"), "<b>Loud.</b>"),
    (Sentence("f(x)", "code"), "<code>f(x)</code>"),
    (Sentence("Mind.", "note"), "<b>Note.</b> Mind."),
    (Sentence("Bad.", "warning"), "<b>Bad.</b>"),
    (Sentence("3 µs", pieces=[("strong", "3"), ("plain", " µs")]), "<p><b>3</b> µs</p>"),
    (Sentence("Mind it.", "note", [("strong", "Mind"), ("plain", " it.")]), "<b>Mind</b> it."),
    (Items(["one", "two"], "To do", ".advice"), "<li>one</li><li>two</li>"),
    (Items(["one"], heads=["First."], codes=["x"], is_minor=True), "<li><b>First.</b> one"),
    (Card("Break", "f.py:3 in f", "x.item()", ["Why.", "More."], ["Do it."]), "<li>Do it.</li>"),
    (Listings([LINES], ".frame('sources')", "bytes"), "k0"),
    (Few([Sentence("inner")], "rows", ".frame()"), "<p>inner</p>"),
    (Fold("Details", [Sentence("inner")]), "<summary>Details</summary>"),
    (Table("Kernels", COLUMNS, ROWS[:2], ".frame()"), "k1"),
    (Table("Folded", COLUMNS, ROWS[:2], is_open=False), "Folded"),
    (Heat(HEAT), "3 µs"),
    (Code("x = 1"), "x = 1"),
    (Changes("k0", "changed", ["-a", "+b", " c"]), "-a"),
    (Beside([("first", "x = 1"), ("second", "y = 2")]), "y = 2"),
    (Chart("a bar", "data:,"), 'alt="a bar"'),
    (Waterfall("ours", [("load", 0.0, 1.0)], 2.0), "load"),
    (Section("all", "All of it", "3", [Sentence("inner")]), "inner"),
    (Facts([("Peak", "3 GB")], "Memory"), "3 GB"),
    (Tree([(0, "block", ""), (1, "norm", "2 µs")]), "  norm  2 µs"),
    (Heading("What it holds"), "<b>What it holds</b>"),
    (Action("save", "Save", "f.save('a')", Field("path", "File")), "<code>f.save(&#39;a&#39;)"),
    (Rows("members", "Members", MEMBERS), "payload"),
    (Columns([Sentence("left"), Sentence("right")]), "right"),
    (Own("chart", [Sentence("In its place.")]), "In its place."),
]


@pytest.mark.parametrize(("block", "shown"), EACH, ids=lambda each: type(each).__name__)
def test_every_block_is_drawn_on_a_page_and_in_what_a_notebook_keeps(
    block: Block, shown: str
) -> None:
    document = Document("The title", [block])
    for html in (write_page(document), summarize(document)):
        assert shown in html
        assert "<b>The title</b>" in html or "<h1>The title</h1>" in html


def test_each_kind_of_block_is_among_those_that_are_tried() -> None:
    tried = {type(block) for block, _ in EACH} | {OnPage, Timeline}
    assert tried == {*Block.__subclasses__(), *Composed.__subclasses__()} - {Composed}


def test_what_only_a_page_has_is_built_for_a_page_alone() -> None:
    built = []

    def build() -> list[Block]:
        built.append(True)
        return [Timeline("Steps", ".plot()", DRAWN)]

    document = Document("t", [OnPage(build)])
    assert "<svg" not in summarize(document)
    assert not built
    assert "<svg" in write_page(document)
    assert built


def test_a_table_says_how_many_rows_it_leaves_out_and_what_gives_them() -> None:
    document = Document("t", [Table("Kernels", COLUMNS, ROWS, ".frame()")])
    kept = summarize(document)
    assert len(kept.encode()) <= 10_000
    assert "more: <code>.frame()</code>" in kept
    assert f"and {len(ROWS) - 24} more" in kept


def test_a_table_without_rows_is_left_out() -> None:
    assert "Kernels" not in write_page(Document("t", [Table("Kernels", COLUMNS, [])]))


def test_a_section_counts_what_does_not_fit_where_a_call_gives_it() -> None:
    parts = [Sentence(f"part {n}.") for n in range(30)]
    document = Document("t", [Section("all", "All", "30", parts, call="diff.frame('kernels')")])
    assert "part 29." in write_page(document)
    kept = summarize(document)
    assert "part 29." not in kept
    assert f"and {30 - SUMMARIES[0].rows} more" in kept


def test_a_source_that_does_not_fit_says_what_gives_it() -> None:
    codes = [Code("x" * 1000, f"{n}.py", call=f".source({n})") for n in range(2)]
    document = Document("t", codes)
    assert "too long for here: <code>.source(0)</code>" in summarize(document)
    assert "too long" not in write_page(document)


def test_lines_of_sources_share_what_a_notebook_keeps() -> None:
    parts = [Changes(f"k{n}", "changed", [f"+line {n} {m}" for m in range(60)]) for n in range(3)]
    kept = summarize(Document("t", parts))
    assert "+line 0 59" in kept
    assert "+line 1 19" in kept
    assert "+line 1 20" not in kept
    assert "+line 2 0" not in kept


def test_a_view_stands_in_place_of_the_blocks_where_a_script_runs() -> None:
    asked: list[Place] = []

    def pack(place: Place) -> bytes:
        asked.append(place)
        return b"record"

    document = Document("t", [Sentence("At rest.")], pack=pack, is_light=False)
    assert 'data-kind="page"' in write_page(document)
    assert 'data-kind="saved"' in keep(document, embed="full", carries_bundle=False)
    page, saved = asked
    assert page.is_page
    assert page.taken == len(write_page(replace(document, pack=None)).partition("<body>")[2]) - 15
    assert (saved.is_page, saved.embed) == (False, "full")
    for embed in ("light", "none"):
        assert keep(document, embed=embed, carries_bundle=False) == summarize(document)  # type: ignore[arg-type]


def test_as_text_a_document_is_its_blocks_but_what_is_folded() -> None:
    document = Document(
        "f on h100",
        [
            Sentence("It fits."),
            Chart("a bar", "data:,"),
            Table("Kernels", COLUMNS, ROWS[:2], is_open=True),
            Table("Lines", COLUMNS, ROWS[2:3], is_open=False),
            Table("None", COLUMNS, []),
            Items(["Why not?", "It is slow."], "Answers", heads=["Why?", ""]),
            Code("x = 1\ny = 2"),
            Code("long", "Source"),
            Waterfall("ours", [("load", 0.0, 1.0), ("call", 1.0, 1.0)], 2.0),
        ],
        facts="likely",
    )
    assert write_text(document).split("\n") == [
        "f on h100 (likely)",
        "- It fits.",
        "  Name  Calls",
        "  k0        1",
        "  k1        2",
        "Answers",
        "- Why? Why not?",
        "- It is slow.",
        "  x = 1",
        "  y = 2",
        "  ours",
        f"    load                 1.00 s |{'█' * 20}{' ' * 20}|",
        f"    call                 1.00 s |{' ' * 20}{'█' * 20}|",
    ]


def test_as_text_rows_that_are_not_shown_are_counted_and_no_title_makes_no_line() -> None:
    lines = write_text(Document("", [Table("Kernels", COLUMNS, ROWS, ".frame()")])).split("\n")
    assert lines[0] == "  Name  Calls"
    assert lines[-1] == "  80 more in .frame()"


def test_as_text_a_composed_block_is_what_it_is_made_of() -> None:
    document = Document("f", [Facts([("Peak", "3 GB")]), Action("save", "Save", "f.save('a')")])
    assert write_text(document).split("\n") == [
        *("f", "  Name  Value", "  Peak  3 GB"),
        *("- Save:", "- f.save('a')"),
    ]


def test_a_new_kind_needs_its_document_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    @dataclass(frozen=True, repr=False)
    class Guess(Presented):
        """A record that nothing else knows."""

        words: str

    def build(record: Any) -> Document:
        return Document("A guess", [Sentence(record.words)])

    kind = Shown(document=build, text=lambda record: write_text(build(record)))
    monkeypatch.setattr(presenters, "find_file", {"Guess": {"Guess": kind}}.get)
    found = Guess("It rains.")
    assert repr(found) == "A guess\n- It rains."
    assert "<p>It rains.</p>" in (found._repr_html_() or "")
    assert presenter().page(found, tmp_path / "a.html") == (tmp_path / "a.html").read_text()


@dataclass(frozen=True, repr=False)
class Held(Presented):
    """A record with a view of its own."""

    view: Any = None


def test_a_notebook_shows_a_view_and_keeps_the_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    published: list[dict[str, Any]] = []
    shell = SimpleNamespace(parent_header={"metadata": {"cellId": "c"}, "header": {"msg_id": "1"}})
    monkeypatch.setattr(display, "find_kernel_shell", lambda: shell)
    monkeypatch.setattr(display, "publish", lambda _, data: published.append(data))
    monkeypatch.setattr(display, "make_live_output", lambda view: {"live": view})
    kind = Shown(
        document=lambda record: Document("t", [Sentence("At rest.")]),
        view=lambda record: "still",
        live=lambda record: "moving",
    )
    monkeypatch.setattr(presenters, "find_file", {"Held": {"Held": kind}}.get)
    presenter().display(Held())
    live, kept = published
    assert live == {"live": "moving"}
    assert "At rest." in kept["text/html"]
    assert presenter().view(Held()) == "still"
    published.clear()
    presenter().display(Held(view=SimpleNamespace(cell="1")))  # which has followed it in this cell
    assert [list(each) for each in published] == [["text/plain", "text/html"]]


def test_what_has_no_view_is_left_to_ipython() -> None:
    with pytest.raises(NotImplementedError):
        presenter().display(object())
    with pytest.raises(UsageError, match="does not have this table or chart"):
        presenter().view(object())
