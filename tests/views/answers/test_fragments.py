"""The page of a file: escaped, folded, nothing lost."""

from __future__ import annotations

import pickle
import re
from dataclasses import replace
from pathlib import Path

from tests.artifacts import package_sample as sample
from tests.sample_report import make
from workbench.artifacts.inspect.artifact_rows import SymbolFacts
from workbench.artifacts.inspect.inspection import inspect
from workbench.worlds.clusters.findings.ranks import RankProgram, Ranks
from workbench.worlds.clusters.rows import Shard

SCRIPT = "<script>alert(1)</script>"


def test_what_a_file_says_is_never_markup(tmp_path: Path) -> None:
    model = sample.model(
        name=SCRIPT, inputs=(SCRIPT,), constants=(replace(sample.weight(), fqn=SCRIPT),)
    )
    members = sample.parts(source=SCRIPT.encode())
    sample.write_package(tmp_path / "m.pt2", model, members=members)
    page = inspect(tmp_path / "m.pt2")._repr_html_()
    assert "<script" not in page
    assert "&lt;script&gt;alert(1)" in page


def test_every_table_is_there_and_suits_light_and_dark_pages(tmp_path: Path) -> None:
    sample.write_package(tmp_path / "m.pt2")
    page = inspect(tmp_path / "m.pt2")._repr_html_()
    for title in (
        "Models",
        "Inputs",
        "Outputs",
        "Machine requirements",
        "Guards",
        "Constants",
        "Members",
        "Libraries",
        "Library sections",
        "Library symbols",
        "Sources",
    ):
        assert f"<b>{title}" in page
    assert "color:" not in page.replace("background-color:", "color:")
    assert "#" not in page.split("<pre")[0].replace("&#", "")


def test_no_column_is_pushed_out_of_sight_by_a_long_one(tmp_path: Path) -> None:
    """As seen at 900 px: the path of a library left no room for weights, nor its needs for why."""
    sample.write_package(tmp_path / "m.pt2")
    report = inspect(tmp_path / "m.pt2")
    long = replace(report.models[0], library=f"data/aotinductor/{'model' * 12}.wrapper.so")
    page = replace(report, models=(long,))._repr_html_()
    head = page.split("<b>Models")[1].split("<pre")[1].split("</pre>")[0]
    assert "weights" in head.split("\n")[0]
    assert "library" not in head.split("\n")[0]
    assert f"\n    {long.library}" in head
    needs = page.split("<b>Machine requirements")[1].split("<pre")[1].split("</pre>")[0]
    assert max(map(len, needs.split("\n"))) < 100


def test_a_long_table_says_how_to_see_the_rest(tmp_path: Path) -> None:
    sample.write_package(tmp_path / "m.pt2")
    report = inspect(tmp_path / "m.pt2")
    many = tuple(SymbolFacts("a.so", f"name{n}", "function", True, 1) for n in range(1500))
    page = replace(report, symbols=many)._repr_html_()
    shown = len(re.findall(r"name\d+", page))
    assert 100 < shown < 1500
    assert f"name{shown - 1} " in page
    assert f"and {1500 - shown} more" in page
    assert len(replace(report, symbols=many).frame("symbols")) == 1500


def test_a_page_is_bounded_whatever_the_file_holds(tmp_path: Path) -> None:
    sample.write_package(tmp_path / "m.pt2")
    report = inspect(tmp_path / "m.pt2")
    many = tuple(SymbolFacts("a.so", f"name{n}", "function", True, 1) for n in range(5000))
    texts = tuple(replace(report.texts[0], name=f"{n}.py", text="x = 1\n" * 9000) for n in range(9))
    full = replace(report, symbols=many, members=report.members * 2000, texts=texts)
    page = full._repr_html_()
    assert len(page) < 310_000
    assert "too long for here: <code>.source('8.py')" in page.replace("&#x27;", "'")


EVAL = b"PT2AOT\x01" + pickle.dumps(eval, protocol=4)  # behind the header of a newer torch


def test_what_runs_commands_stands_first(tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(EVAL)
    page = inspect(tmp_path / "f")._repr_html_()
    assert page.index("builtins:eval") < page.index("<details")
    assert "RUNS COMMANDS" in repr(inspect(tmp_path / "f"))


def test_a_file_that_one_signed_opens_without_a_warning_of_its_pickles(tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(EVAL)
    own = replace(inspect(tmp_path / "f"), signature="signed by you")
    assert "runs commands" not in own._repr_html_().partition("<details")[0]
    assert "RUNS COMMANDS" not in repr(own)
    assert "1 name, 1 unusual" in repr(own)
    assert "builtins:eval" in own.unusual


def make_ranks() -> Ranks:
    report = make()
    return Ranks(
        "Block<x>",
        "h100",
        {"dp": 2, "tp": 4},
        (
            RankProgram(
                0, {"dp": 0, "tp": 0}, (Shard("w", (3, 4), "float32", 48, True),), {}, report
            ),
            RankProgram(
                7, {"dp": 1, "tp": 3}, (Shard("w", (1, 4), "float32", 16, True),), {}, report
            ),
            RankProgram(5, {"dp": 1, "tp": 1}, error="build raised ValueError: none"),
        ),
        "Chosen by hand.",
    )


def test_the_text_has_the_sentences_and_a_line_for_each_rank() -> None:
    lines = repr(make_ranks()).splitlines()
    assert lines[0] == "Block<x> on h100, dp 2 × tp 4"
    assert "- Rank 5 was not compiled: build raised ValueError: none" in lines
    assert "- Chosen by hand." in lines
    assert [line.split()[0] for line in lines[-3:]] == ["0", "7", "5"]
    assert "dp=1, tp=3" in lines[-2]
    assert max(map(len, lines)) < 200


def test_a_notebook_keeps_the_sentences_and_the_shards_that_differ() -> None:
    html = make_ranks()._repr_html_()
    assert html is not None
    assert "Rank 5 was not compiled" in html
    assert "[1, 4]" in html
    assert "<script" not in html
    page = make_ranks().to_html()
    assert "Block&lt;x&gt; on h100" in page
    assert "Differing shards" in page
