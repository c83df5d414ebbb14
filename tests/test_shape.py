"""Ceilings of what a stranger meets: the walk of a call, names that occur twice, vendors' names.

A ceiling goes down when the code does better, never up. How long the code is has none.
"""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from sample_packages import Sample

import workbench as wb
from tests.shape import shape
from tests.walk import COMPILER, compile_small, find_road, walk, walk_launches, walk_page

MOST_REPEATED_NAMES = 1
MOST_DEVICE_FILES = 7

ONLY_2_13 = pytest.mark.skipif(
    not torch.__version__.startswith("2.13."),
    reason=f"torch before {torch.__version__}: walks are counted with the release of every test",
)


def test_the_measures_of_the_package_do_not_get_worse() -> None:
    found = shape()
    assert found.repeated_names <= MOST_REPEATED_NAMES
    assert found.device_files <= MOST_DEVICE_FILES


def test_the_contributors_page_says_what_a_new_kind_of_device_would_touch() -> None:
    text = (Path(__file__).parents[1] / "CONTRIBUTING.md").read_text()
    assert f"would touch {MOST_DEVICE_FILES} files today" in text


def test_a_measure_counts_what_it_says(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "same.py").write_text('"""cuda"""\n\n\ndef _once():\n    return torch.cuda\n')
    functions = ("make_it():\n    pass", "thing():\n    return _once()", "_never():\n    pass")
    (tmp_path / "same.py").write_text("\n\n\n".join(f"def {each}" for each in functions) + "\n")
    found = shape(tmp_path)
    assert (found.lines, found.files, found.repeated_names, found.device_files) == (15, 2, 1, 1)
    assert found.mean_function == 2
    assert found.verbs == 0.5
    assert found.private_once == 1000 * 2 / 15  # one is called once, one never


@ONLY_2_13
def test_the_walk_of_a_compilation_does_not_get_longer() -> None:
    found = walk(compile_small)
    assert ("api/compilation.py", "aot_compile") in found.stops
    assert len(found.stops) <= 56, found.stops
    assert found.rooms <= 19  # small rooms: the base of the handles is one, too, and what compiles
    assert found.depth <= 10


@ONLY_2_13
def test_a_call_is_handed_through_a_dozen_functions_until_torch_compiles() -> None:
    road = find_road(compile_small, COMPILER)
    assert road[0] == ("host.py", "require_torch.<locals>.called")
    assert road[-1] == ("compiler/pipeline/pipeline.py", "_compile_once")
    assert len(road) <= 11, road


@ONLY_2_13
def test_the_walk_of_a_load_does_not_get_longer(small: Sample) -> None:
    found = walk(lambda: wb.load(small.path))
    assert ("handles/packages/__init__.py", "load_package") in found.stops
    assert len(found.stops) <= 23, found.stops  # the fast check is that of functions, too
    assert found.rooms <= 11
    assert found.depth <= 10


@ONLY_2_13
def test_the_walk_to_a_page_does_not_get_longer() -> None:
    found = walk_page()
    assert ("views/pages/report_page.py", "build_document") in found.stops
    assert ("views/static_html/render.py", "write_page") in found.stops
    # 15 of them are panes, 6 answer their questions, 43 are in the analysis of what these show
    assert len(found.stops) <= 98, found.stops
    assert found.depth <= 11


@ONLY_2_13
def test_a_record_becomes_html_in_a_handful_of_stops() -> None:
    found = walk_launches()
    assert ("views/presenters.py", "_Views.fragment") in found.stops
    assert len(found.stops) <= 3, found.stops


def test_a_walk_has_only_what_hands_on_and_nothing_that_torch_calls() -> None:
    found = walk(lambda: wb.targets())
    assert found.stops[0] == ("arguments.py", "checked.<locals>.called")
    assert all(not file.startswith("/") for file, _ in found.stops)
