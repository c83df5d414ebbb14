"""Numbers in documents are those of committed files, and each limit names a test that shows it."""

from __future__ import annotations

import re

import pytest

from tests.docs.marks import ROOT, Mark, find, has_number, list_marks, list_numbers, show
from tests.gpu.record import PATH, GpuRecord

FILES = [ROOT / "README.md", *sorted((ROOT / "docs" / "pages").rglob("*.md"))]
MARKS = [
    (path.relative_to(ROOT).as_posix(), m) for path in FILES for m in list_marks(path.read_text())
]
LIMITS = ROOT / "docs" / "pages" / "about" / "limits.md"
SAMPLE = """It took 2.95 times.
<!-- from: a.json it = .2f ; of = .0% -->

- It is not supported. <!-- shown by: tests/docs/test_marks.py::test_a_number -->
"""


@pytest.mark.parametrize(("file", "mark"), [each for each in MARKS if each[1].kind == "from"])
def test_a_number_is_the_one_in_its_file(file: str, mark: Mark) -> None:
    numbers = dict(list_numbers(mark))
    assert [each for each in numbers.items() if not has_number(mark.before, each[1])] == [], file


@pytest.mark.parametrize(("file", "mark"), [each for each in MARKS if each[1].kind == "shown by"])
def test_the_test_that_shows_a_statement_exists(file: str, mark: Mark) -> None:
    for named in mark.text.split(" ; "):
        path, _, name = named.partition("::")
        text = (ROOT / path).read_text()
        assert re.search(rf"^ *(async )?def {name}\(", text, re.MULTILINE), (file, named)


def test_every_limit_names_its_test() -> None:
    items = re.split(r"\n(?=- )", LIMITS.read_text().partition("## What it does not do")[2])
    assert [item for item in items if "- " in item and "<!-- shown by:" not in item] == []


def test_the_committed_run_on_a_gpu_is_of_an_h200() -> None:
    assert GpuRecord.load(PATH).found["device"] == "NVIDIA H200"


def test_marks_are_read_with_the_text_before_them() -> None:
    first, second = list_marks(SAMPLE)
    assert first == Mark("from", "a.json it = .2f ; of = .0%", "It took 2.95 times.")
    assert (second.kind, second.before) == ("shown by", "- It is not supported.")


def test_a_path_goes_through_rows_by_what_they_have() -> None:
    data = {"figures": [{"name": "it", "value": 2.949}, {"name": "other", "value": 1}]}
    assert find(data, "it") == 2.949
    assert find({**data, "all": [{"n": [1, 2]}]}, "all :: 0 :: n :: len") == 2
    assert [show(2.949, ".2f"), show(-0.044, ".1%"), show(1234, ",d")] == [
        "2.95",
        "−4.4 %",
        "1,234",
    ]


def test_constants_of_a_python_file_are_numbers_too() -> None:
    mark = Mark("from", "workbench/report/paired.py FEWEST = d ; SURE = .1%", "")
    assert dict(list_numbers(mark)) == {"FEWEST": "11", "SURE": "99.9 %"}


@pytest.mark.parametrize("text", ["12.95 times", "2.951 times", "2.95,1", "−2.95"])
def test_a_part_of_a_number_is_another_number(text: str) -> None:
    assert has_number("at most 2.95×, or so", "2.95")
    assert has_number("2.95.", "2.95")
    assert not has_number(text, "2.95")
