"""The page's table is what the model says today, and what spills is not among the first."""

from __future__ import annotations

from tests.bench import timed_configs
from tests.bench.winner_ranks import PAGE


def test_the_page_has_what_the_model_says() -> None:
    facts = timed_configs.read_facts()
    times = sorted(timed_configs.read_times().items())
    rows = [timed_configs.rank_problem(problem, each, facts) for problem, each in times]
    text = PAGE.read_text()
    assert timed_configs.make_table(rows) in text
    assert min(row.rank for row in rows) > 0.4
    assert max(row.first for row in rows) < 2, "a configuration that spills took 9.7 times"
