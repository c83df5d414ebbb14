"""What `fragments` shows of ranks."""

from __future__ import annotations

from tests.sample_report import make
from workbench.analysis.ranks.rank_programs import RankProgram
from workbench.analysis.ranks.ranks import Ranks
from workbench.report.cluster.cluster_rows import Shard

REPORT = make()
FOUND = Ranks(
    "Block<x>",
    "h100",
    {"dp": 2, "tp": 4},
    (
        RankProgram(0, {"dp": 0, "tp": 0}, (Shard("w", (3, 4), "float32", 48, True),), {}, REPORT),
        RankProgram(7, {"dp": 1, "tp": 3}, (Shard("w", (1, 4), "float32", 16, True),), {}, REPORT),
        RankProgram(5, {"dp": 1, "tp": 1}, error="build raised ValueError: none"),
    ),
    "Chosen by hand.",
)


def test_the_text_has_the_sentences_and_a_line_for_each_rank() -> None:
    lines = repr(FOUND).splitlines()
    assert lines[0] == "Block<x> on h100, dp 2 × tp 4"
    assert "- Rank 5 was not compiled: build raised ValueError: none" in lines
    assert "- Chosen by hand." in lines
    assert [line.split()[0] for line in lines[-3:]] == ["0", "7", "5"]
    assert "dp=1, tp=3" in lines[-2]
    assert max(map(len, lines)) < 200


def test_a_notebook_keeps_the_sentences_and_the_shards_that_differ() -> None:
    html = FOUND._repr_html_()
    assert html is not None
    assert "Rank 5 was not compiled" in html
    assert "[1, 4]" in html
    assert "<script" not in html
    page = FOUND.to_html()
    assert "Block&lt;x&gt; on h100" in page
    assert "Shards that differ" in page
