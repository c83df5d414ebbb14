"""The page of a file: escaped, folded, nothing lost."""

from __future__ import annotations

import pickle
import re
from dataclasses import replace
from pathlib import Path

from tests.artifacts import package_sample as sample
from workbench.artifacts.inspect.artifact_rows import SymbolFacts
from workbench.artifacts.inspect.inspection import inspect

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
    for title in ("Models", "Inputs", "Outputs", "Needs of a machine", "Guards", "Constants",
                  "Members", "Libraries", "Sections", "Symbols", "Sources"):  # fmt: skip
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
    needs = page.split("<b>Needs of a machine")[1].split("<pre")[1].split("</pre>")[0]
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


def test_what_runs_commands_stands_first(tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(pickle.dumps(eval, protocol=4))
    page = inspect(tmp_path / "f")._repr_html_()
    assert page.index("builtins:eval") < page.index("<details")
    assert "RUNS COMMANDS" in repr(inspect(tmp_path / "f"))


def test_a_file_that_one_signed_opens_without_a_warning_of_its_pickles(tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(pickle.dumps(eval, protocol=4))
    own = replace(inspect(tmp_path / "f"), signature="signed by you")
    assert "runs commands" not in own._repr_html_().partition("<details")[0]
    assert "RUNS COMMANDS" not in repr(own)
    assert "1 name, 1 beyond" in repr(own)
    assert "builtins:eval" in own.unusual
