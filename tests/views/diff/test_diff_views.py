"""A diff as sentences, as a document on the wire, as HTML and as a widget."""

from __future__ import annotations

import gzip
import json
from dataclasses import replace
from html.parser import HTMLParser
from typing import Any

import pytest

from tests.diffs import diff, recorded
from tests.wire_types import mismatches
from workbench.analysis.diff.difference import Change, KernelMatch
from workbench.analysis.diff.report_comparison import compare
from workbench.report import Break, Guard, Kernel, Report, Request, Table
from workbench.views.diff.diff_page import MOST_ROWS, build_blocks, document, unified
from workbench.views.diff.sentences import joined, sentences
from workbench.views.kit.blocks import SUMMARY_BYTES
from workbench.views.static_html.render import keep, summarize
from workbench.views.wire.diff_messages import DiffDocument, DiffLine

PAIRS = [
    ("static", "dynamic"),
    ("h100", "apart"),
    ("apart", "h100"),
    ("static", "h100"),
    ("static", "train"),
    ("static", "again"),
]


@pytest.fixture(params=PAIRS, ids="-".join)
def pair(request: pytest.FixtureRequest) -> tuple[str, str]:
    found: tuple[str, str] = request.param
    return found


def test_the_document_fits_the_wire(pair: tuple[str, str]) -> None:
    shown = document(diff(*pair))
    assert mismatches(shown, DiffDocument) == []
    assert shown == json.loads(json.dumps(shown))
    told = {part["id"] for part in shown["parts"]}
    assert {sentence["part"] for sentence in shown["sentences"]} <= told


class Balanced(HTMLParser):
    """Raises when a closing tag does not close the last open one."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        if tag not in ("meta", "link", "img", "br", "path"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag != "path":
            assert self.open.pop() == tag


def test_pages_and_fragments_are_whole(pair: tuple[str, str]) -> None:
    found = diff(*pair)
    for text in (
        found.to_html(),
        summarize(build_blocks(found)),
        keep(build_blocks(found), embed="full", carries_bundle=False),
    ):
        reader = Balanced()
        reader.feed(text)
        assert reader.open == []
        assert "http://" not in text
    assert "<script" not in summarize(build_blocks(found))
    assert len(summarize(build_blocks(found)).encode()) <= SUMMARY_BYTES
    assert keep(build_blocks(found), embed="light", carries_bundle=True) == summarize(
        build_blocks(found)
    )


def test_kernels_lead_from_every_part_to_their_source() -> None:
    shown = document(diff("h100", "apart"))
    parts = {part["id"]: part for part in shown["parts"]}
    assert parts["fusion"]["rows"][0]["kernels"] == [0]
    split = shown["kernels"][0]
    assert (split["relation"], split["a"][0], len(split["b"])) == (
        "split",
        "k0 triton_per_fused_native_layer_norm_0",
        3,
    )
    assert any(fact.startswith("traffic ") for fact in split["facts"])
    assert shown["kernels"][1]["source"] == []  # the same in both


def test_a_source_on_one_side_has_lines_on_one_side() -> None:
    shown = document(diff("static", "train"))
    new = next(k for k in shown["kernels"] if not k["a"] and k["source"])
    assert {(line["kind"], line["before"]) for line in new["source"]} == {("added", None)}


def test_long_parts_are_cut_and_say_so() -> None:
    options = tuple((f"option_{n}", str(n)) for n in range(MOST_ROWS + 5))
    found = compare(Report(), Report(request=Request(options=options)))
    part = next(p for p in document(found)["parts"] if p["id"] == "request")
    assert (len(part["rows"]), part["more"], part["differ"]) == (MOST_ROWS, 5, MOST_ROWS + 5)


def test_what_is_escaped() -> None:
    evil = "<img src=x onerror=alert(1)>"
    found = compare(Report(), Report(request=Request(name=evil, options=((evil, evil),))))
    assert evil not in summarize(build_blocks(found))
    page = found.to_html()
    assert evil not in page.partition('<script type="text/plain"')[0]


def lines(*kinds: str) -> list[DiffLine]:
    return [
        {
            "kind": kind,  # type: ignore[typeddict-item]
            "left": n,
            "right": n,
            "before": None if kind == "added" else f"a{n}",
            "after": None if kind == "removed" else f"b{n}" if kind == "changed" else f"a{n}",
        }
        for n, kind in enumerate(kinds, 1)
    ]


def test_only_what_is_near_a_difference_is_unified() -> None:
    same = ("same",) * 5
    assert list(unified(lines(*same, "changed", "added", *same))) == [
        "@@ 3, 3",
        " a3",
        " a4",
        " a5",
        "-a6",
        "+b6",
        "+a7",
        " a8",
        " a9",
        " a10",
    ]
    assert list(unified(lines(*same))) == []


def test_sentences_say_what_matters_first() -> None:
    parts = [sentence.part for sentence in sentences(diff("h100", "apart"))]
    assert parts == ["outcome", "request", "kernels", "traffic", "phases"]
    texts = [sentence.text for sentence in sentences(diff("static", "dynamic"))]
    assert any("sizes became arguments" in text for text in texts)
    assert any("7 got symbolic sizes and 2 were added" in text for text in texts)


def test_sentences_about_what_broke_and_what_a_gpu_needs() -> None:
    a = recorded("h100")
    item = Break("b0", "~/m.py", 3, "f", "if x > 0:", "kind", None, "why", "")
    rows = [replace(k, registers=1) for k in a.kernels]
    resources = [replace(r, registers=255, spill_stores=9) for r in a.resources]
    own = {
        "breaks": Table.of(Break, [item]),
        "kernels": Table.of(Kernel, rows),
        "resources": Table.of(type(resources[0]), resources),
    }
    texts = compare(a, replace(a, tables={**a.tables, **own})).sentences
    assert "1 more graph break: if x > 0." in texts
    assert any(text.startswith("On the GPU k0 (native_layer_norm): spills 0 → 9") for text in texts)


def test_the_example_of_new_guards_is_one_on_sizes() -> None:
    a = recorded("static")
    fresh = [
        Guard("q90", True, "GLOBAL_STATE", "", ("grad mode is on",)),
        Guard("q91", True, "LAMBDA_GUARD", "", ("2 <= L['y'].size()[0]",)),
    ]
    guards = Table.of(Guard, [*a.guards, *fresh])
    verdict, first, *_ = compare(a, replace(a, tables={**a.tables, "guards": guards})).sentences
    assert verdict == "Worse in b: guards 48 → 50."
    assert first == "Guards: 2 new, for example 2 <= L['y'].size()[0]."


def test_times_that_read_alike_are_no_sentence() -> None:
    found = diff("static", "dynamic")
    whole = next(change for change in found.changes if change.part == "phases")

    def told(b: float) -> list[str]:
        rows = (replace(whole, a=128.1, b=b),)
        return [s.text for s in sentences(replace(found, changes=rows)) if s.part == "phases"]

    assert told(128.2) == []
    assert told(150.0) == [
        "Compile time 2 min 8 s → 2 min 30 s, not measured interleaved: no verdict."
    ]


def test_lists_in_sentences() -> None:
    assert joined(["k0"]) == "k0"
    assert joined(["k0", "k1", "k2"]) == "k0, k1 and k2"
    assert joined([f"k{n}" for n in range(9)]) == "k0, k1 and 7 more"
    assert joined([]) == ""


def test_the_widget_carries_the_document() -> None:
    found = diff("static", "dynamic")
    view = found.view()
    assert json.loads(gzip.decompress(view.diff)) == document(found)
    assert repr(view) == "Workbench view of static → dynamic"
    view.close()


def test_outside_a_notebook_it_is_text_or_html() -> None:
    found = diff("static", "dynamic")
    made = found._repr_mimebundle_()
    assert made["text/plain"] == repr(found)
    assert "<script" not in made["text/html"]
    with pytest.raises(NotImplementedError):
        found._ipython_display_()


def changed(part: str, item: str, a: Any, b: Any, note: str = "", unit: str = "") -> Change:
    return Change(part, item, "changed", a, b, unit, note)


def rows_of(part: str, *changes: Change) -> list[Any]:
    """The rows of a part of a difference that consists of these."""
    shown = document(replace(diff("static", "dynamic"), changes=changes))
    return next(each["rows"] for each in shown["parts"] if each["id"] == part)


def test_stages_and_inputs_are_called_as_in_the_pane_of_graphs() -> None:
    """Seen: `after_post_grad (backward)`, `L_self_modules_net_modules_0_parameters_weight_`."""
    graphs = rows_of("graphs", changed("graphs", "after_post_grad (backward)", 5, 6))
    assert [row["item"] for row in graphs] == ["After post-grad passes, backward"]
    weight = "L_self_modules_net_modules_0_parameters_weight_"
    nodes = rows_of(
        "nodes",
        changed("nodes", "primals_2", "float32", None, f"input {weight}"),
        changed("nodes", weight.lower(), "float32", None, f"input {weight}"),
        changed("nodes", "add_3", "float32", None, "aten.add.Tensor"),
    )
    assert [(row["item"], row["note"]) for row in nodes] == [
        ("primals_2", "input net.0.weight"),
        ("net.0.weight", ""),
        ("add_3", "aten.add.Tensor"),
    ]
    shown = document(diff("static", "train"))
    titles = {row["where"] for part in shown["parts"] for row in part["rows"]}
    assert not any("_" in title for title in titles)


def test_phases_of_one_name_are_one_row() -> None:
    """Seen: two rows "the whole compilation", one of all, one of what no phase tells of."""
    rows = rows_of(
        "phases",
        changed("phases", "the whole compilation", 9.0, 8.0, unit="s"),
        changed("phases", "Scheduler.codegen", 1.0, 2.0, unit="s"),
        changed("phases", "GraphLowering.codegen", 2.0, None, unit="s"),
        changed("phases", "compile", 0.5, 0.25, unit="s"),
        changed("phases", "dynamo", 0.25, 0.25, unit="s"),
    )
    assert [(row["item"], row["a"], row["b"]) for row in rows] == [
        ("the whole compilation", "9.00 s", "8.00 s"),
        ("writing kernels", "3.00 s", "2.00 s"),
        ("other work", "750 ms", "500 ms"),
    ]
    assert [row["change"] for row in rows] == ["changed", "less", "less"]


def test_reasons_of_the_scheduler_are_put_plainly() -> None:
    reason = "intermediate nodes between node1 & node2"
    (row,) = rows_of("fusion", changed("fusion", "k0 (add) and k1 (mul)", "together in k0", reason))
    assert (row["a"], row["b"]) == ("together in k0", "another node lies between")


def test_sentences_count_what_is_one_or_all() -> None:
    """Seen: "1 of 1 matched kernel is not the same", "11 gone, such as gone: …", "…modul ….":"""
    found = diff("static", "dynamic")
    match = KernelMatch(("k0",), ("k0",), "changed", ("sizes became arguments",))
    gone = [
        replace(
            changed("nodes", f"n{n}", "float32", None, "aten.add.Tensor"),
            change="removed",
            id_a=f"{captured(found.a)}:{n}",
        )
        for n in range(5)
    ]
    guard = changed("guards", "LAMBDA_GUARD x", "y" * 300, "z" * 300)
    traffic = [
        changed("traffic", "all kernels", 2e6, 1e6, unit="bytes"),
        changed("traffic", f"k0 ({'add_mul_' * 20})", 2e6, 1e6, unit="bytes"),
    ]
    for matches, known in (
        ((match,), "The one matched kernel, k0 "),
        ((match, match), "All 2 matched kernels differ, k0 "),
    ):
        made = replace(found, kernels=matches, changes=(*gone, guard, *traffic))
        texts = [sentence.text for sentence in sentences(made)]
        assert any(text.startswith(known) for text in texts)
    assert any(text.endswith(" in a), 5 were removed: add, add and 3 more.") for text in texts)
    assert not any("…." in text for text in texts)
    assert any(text.startswith("DRAM traffic") and len(text) < 120 for text in texts)


def captured(report: Report) -> str:
    return next(graph.id for graph in report.graphs if graph.stage == "dynamo")
