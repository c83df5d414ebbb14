"""Streams: the sentence, the lanes, and what is said where a time is not known."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tests.analysis.collectives.test_streams import record
from tests.views.panes.said import list_sentences, read_first
from workbench.report import Capability, Kernel, Report
from workbench.report.collectives.collective_rows import HOOK, Collective
from workbench.report.table import Table
from workbench.views.document import document
from workbench.worlds.clusters.views.streams_pane import _name_place


def test_the_sentence_says_what_the_kernels_wait_for_and_how_sure_that_is() -> None:
    shown = document(record("k", ">", "<", "k", ">", "k", "<"))
    said, model = list_sentences(shown, "streams")
    assert said.startswith("2 collectives take 372 µs; 272 µs of 572 µs are exposed communication")
    assert (
        "Most exposed: 272 µs for 2 × all_reduce of 33.6 MB over group 0, 8 GPUs on 1 node." in said
    )
    assert model.startswith(
        "Modelled: collectives of at least 64 KiB ± 15 %, kernels ± 0 %. Not in"
    )
    assert "Modelled" not in said  # as seen at 900 px: a sentence of three lines


def test_one_collective_is_waited_for_by_itself() -> None:
    said = read_first(document(record("k", ">", "<")), "streams")
    assert said.startswith("1 collective takes 186 µs; 186 µs of 286 µs are exposed communication")


def test_what_is_hidden_whole_is_said() -> None:
    shown = document(record("k", ">", "k", "k", "<"))
    assert "fully overlapped" in read_first(shown, "streams")


def test_waiting_carries_no_sign_of_a_break() -> None:
    """As seen: 12 collectives with the red mark that graph breaks have."""
    shown = document(record("k", ">", "<", "k", ">", "k", "<"))
    assert "272 µs of 572 µs are exposed" in read_first(shown, "streams")
    (pane,) = (pane for pane in shown["panes"] if pane["id"] == "streams")
    assert (pane["count"], pane["is_problem"]) == (2, False)


def test_the_kernels_are_the_first_lane_and_every_span_leads_to_its_kernel() -> None:
    made = record(">", "k", "<")
    spans = document(made)["streams"]
    assert [(span["id"], span["kind"]) for span in spans] == [
        ("k1", "kernel"),
        ("k2", "wait"),
        ("k0", "collective"),
    ]
    assert [span["lane"] for span in spans] == ["kernels", "kernels", "group 0, 8 GPUs on 1 node"]
    assert spans[1]["words"] == "waits for all_reduce of 33.6 MB"


def test_many_nodes_were_held_against_nothing() -> None:
    made = record(">", "<")
    far = [replace(row, group_size=64, group_nodes=64) for row in made.collectives]
    tables = {**made.tables, "collectives": Table.of(Collective, far)}
    said = list_sentences(document(replace(made, tables=tables)), "streams")[1]
    assert "collectives (error not measured beyond 4 nodes)" in said


def test_without_a_time_the_sentence_says_why() -> None:
    made = record(">", "<")
    rows = [replace(row, est_us=None, why="of a10 no rate is known") for row in made.collectives]
    tables = {**made.tables, "collectives": Table.of(Collective, rows)}
    shown = document(replace(made, tables=tables))
    assert read_first(shown, "streams") == "1 collective; times unknown: of a10 no rate is known."
    assert shown["streams"] == []
    assert shown["collectives"][0]["said"] == "of a10 no rate is known"


def test_a_program_of_the_host_says_that_gpus_are_modelled() -> None:
    made = record(">", "<")
    rows = [replace(row, est_us=None, why=None) for row in made.collectives]
    shown = document(
        replace(made, tables={**made.tables, "collectives": Table.of(Collective, rows)})
    )
    assert "modelled for GPUs: compile for one" in read_first(shown, "streams")


def test_a_collective_that_was_not_found_in_the_program_is_said() -> None:
    made = record("k", ">", "<")
    rows = [replace(row, kernel=None) for row in made.collectives]
    shown = document(
        replace(made, tables={**made.tables, "collectives": Table.of(Collective, rows)})
    )
    assert "the kernels that start collectives were not found" in read_first(shown, "streams")
    assert shown["streams"] == []


def test_it_is_there_for_programs_with_collectives_only() -> None:
    """Nothing that can be pressed would fill it, and the row of tabs is full."""
    assert "streams" in [pane["id"] for pane in document(record(">", "<"))["panes"]]
    assert "streams" not in [pane["id"] for pane in document(Report())["panes"]]


def with_rows(made: Report, *changes: dict[str, Any]) -> Report:
    rows = [replace(row, **of) for row, of in zip(made.collectives, changes, strict=True)]
    return replace(made, tables={**made.tables, "collectives": Table.of(Collective, rows)})


def test_what_torchs_passes_did_is_said_in_plain_words() -> None:
    made = with_rows(
        record("k", ">", "<", "k", ">", "<"),
        {"merged_from": ("g1:a", "g1:b", "g1:c"), "bucket": 0},
        {},
    )
    shown = document(made)
    assert "Torch's passes merged 3 collectives into 1." in read_first(shown, "streams")
    assert [row["said"].partition("; ")[2] for row in shown["collectives"]] == ["merged from 3", ""]
    moved = with_rows(
        record("k", ">", "<", "k", ">", "<"),
        {"moves": ("sink: 0, data dependency detected candidate:op5", "reorder: 2")},
        {"moves": ("sink: 0, something new", "reorder: 0, peak memory new:5 vs base:4")},
    )
    assert (
        "Torch's passes moved 1 of 2 collectives. Limits of the exposed collectives: 1 × the "
        "next kernel needs the collective's output; 1 × something new; 1 × peak memory would rise."
    ) in read_first(document(moved), "streams")


def test_times_of_torch_are_told_where_its_passes_went_by_them() -> None:
    times = {"torch_est_us": 100.0, "torch_exposed_us": 40.0}
    made = record(">", "<", ">", "<")
    said = "By torch's own estimates, the collectives take 200 µs, with 80.0 µs exposed."
    assert said in read_first(document(with_rows(made, times, times)), "streams")
    assert "own estimates" not in read_first(document(with_rows(made, times, {})), "streams")


def test_a_release_whose_passes_were_not_watched_says_so() -> None:
    lost = Capability("collective passes", available=False, reason="this torch has no such name")
    made = record(">", "<")
    made = replace(made, tables={**made.tables, "capabilities": Table.of(Capability, [lost])})
    said = "The actions of torch's passes were not recorded: this torch has no such name."
    assert read_first(document(made), "streams").endswith(said)


def test_what_stopped_them_is_not_said_of_those_waited_for_where_that_is_not_known() -> None:
    made = with_rows(
        record(">", "<"), {"est_us": None, "exposed_us": None, "moves": ("sink: 0, x",)}
    )
    said = read_first(document(made), "streams")
    assert "moved 0 of 1 collective. Limits: 1 × x." in said


def test_async_tp_moves_nothing() -> None:
    """As seen: "moved 0 of 4", of a program that no pass tried to reorder."""
    left = "async TP: 0, its group has no symmetric memory"
    said = read_first(document(with_rows(record(">", "<"), {"moves": (left,)})), "streams")
    assert "moved" not in said
    assert said.endswith("Async TP left 1 collective unfused: its group has no symmetric memory.")


def fuse(made: Report) -> Report:
    """With its first kernel as one that async TP made, and without the rows of what it sends."""
    name = "torch.ops.symm_mem.fused_all_gather_matmul.default"
    first, *others = made.kernels
    kernels = [replace(first, name=name, language="extern"), *others]
    return replace(made, tables={**made.tables, "kernels": Table.of(Kernel, kernels)})


def test_collectives_that_async_tp_fused_are_not_said_to_be_none() -> None:
    shown = document(fuse(record("k", "k")))
    said = "1 async TP kernel contains a fused collective"
    assert read_first(shown, "streams").startswith(said)
    (pane,) = (pane for pane in shown["panes"] if pane["id"] == "streams")
    assert (pane["count"], pane.get("empty")) == (None, None)
    assert said in read_first(document(fuse(record("k", ">", "<"))), "streams")


@pytest.mark.parametrize(
    ("block", "place"),
    [
        ("layers.0", "hook of layers.0"),
        ("", "hook of the model"),
        (None, "hook around the program"),
    ],
)
def test_what_a_hook_sends_has_its_block_for_a_place(block: str | None, place: str) -> None:
    """As seen: a column without a word for a model of fully_shard, which has no lines there."""
    row = replace(next(iter(record(">", "<").collectives)), origin=HOOK, block=block)
    assert _name_place(row, {}) == place


def test_a_page_has_a_section_of_them() -> None:
    page = record("k", ">", "<").to_html()
    section = page[page.index('id="streams"') :]
    assert "1 collective takes 186 µs" in section.replace("<b>", "").replace("</b>", "")
    assert "all_reduce" in section
