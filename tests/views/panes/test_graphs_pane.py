"""The Graphs pane: graphs as passes left them stand behind their stage, passes in their order."""

from __future__ import annotations

import pytest

from tests.stepped_report import compile_stepped
from workbench.views.document import ViewContext, document
from workbench.views.wire.report_messages import Document


@pytest.fixture(scope="module")
def shown() -> Document:
    return document(compile_stepped(grad=True).report, ViewContext())


def test_a_pass_of_the_user_is_told_with_its_option(shown: Document) -> None:
    own = next(each for each in shown["passes"] if "yours" in each["says"])
    assert (own["name"], own["group"]) == ("SwapAddForSub", "Post-grad, forward")
    assert (own["change"], own["says"]) == ("~1", "yours, by post_grad_custom_post_pass")
    assert own["after"] == f"{own['before']}.1"


def test_patterns_say_whether_they_ever_matched(shown: Document) -> None:
    said = {each["says"] for each in shown["passes"] if each["name"] == "pattern_matcher"}
    assert "never matched" in said
    assert any(text.startswith("matched ") for text in said)


def test_the_graphs_of_passes_stand_behind_their_stage(shown: Document) -> None:
    ids = [graph["id"] for graph in shown["graphs"] if graph["stage"] != "bytecode"]
    steps = [id for id in ids if "." in id]
    assert steps
    for id in steps:
        before = ids[ids.index(id) - 1]
        assert before.partition(".")[0] == id.partition(".")[0]
    titles = {graph["id"]: graph["title"] for graph in shown["graphs"]}
    assert "After SwapAddForSub" in titles.values()


def test_what_the_scheduler_did_is_told_without_a_graph(shown: Document) -> None:
    fused = [each for each in shown["passes"] if each["name"] == "fuse_nodes" and each["change"]]
    assert fused
    assert all(each["before"] is each["after"] is None for each in fused)
