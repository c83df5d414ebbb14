"""Reports survive the way to a file and back, whole or not at all."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from workbench.errors import ArtifactError, UsageError
from workbench.report import SCHEMA, Report, TextWriter
from workbench.report.wbr_file import LazyTexts


def test_a_report_read_back_is_equal(sample_report: Report, tmp_path: Path) -> None:
    sample_report.save(tmp_path / "a.wbr")
    again = Report.load(tmp_path / "a.wbr")
    assert json.dumps(again.to_json()) == json.dumps(sample_report.to_json())
    assert list(again.nodes) == list(sample_report.nodes)
    assert again.request == sample_report.request
    assert repr(again) == repr(sample_report)
    assert Report.from_json(sample_report.to_json()).environment == sample_report.environment


def test_links_are_followed_both_ways(sample_report: Report) -> None:
    link = sample_report.links[0]
    assert link.b in sample_report.linked(link.a)
    assert link.a in sample_report.linked(link.b)


def test_a_file_is_lines_of_json_for_any_gzip_tool(sample_report: Report) -> None:
    lines = gzip.decompress(sample_report.to_bytes()).decode().splitlines()
    assert json.loads(lines[0])["schema"] == SCHEMA
    assert len(lines) == len(json.loads(lines[0])["sizes"]) + 1


def test_a_newer_schema_is_refused_with_a_sentence(sample_report: Report) -> None:
    data = {**sample_report.to_json(), "schema": SCHEMA + 1}
    with pytest.raises(ArtifactError, match="Upgrade aot-workbench"):
        Report.from_json(data)


def test_unknown_record_kinds_are_kept(sample_report: Report) -> None:
    data = sample_report.to_json()
    data["tables"]["constellations"] = {"columns": {"id": ["c0"]}}
    again = Report.from_json(data)
    assert again.extra["unknown_tables"] == {"constellations": {"columns": {"id": ["c0"]}}}
    assert again.to_json() == data
    with pytest.raises(UsageError, match="No installed package reads the table 'constellations'"):
        again.frame("constellations")


@pytest.mark.parametrize(
    "content",
    [
        *(b"", b"hello"),
        *(gzip.compress(each, mtime=0) for each in (b"[]", b"{}", b'{"schema": 1}')),
        gzip.compress(b'{"schema": 1, "sizes": {"texts": "1"}}', mtime=0),
    ],
    ids=["empty", "text", "a list", "nothing known", "no texts", "sizes that are texts"],
)
def test_what_is_no_report_is_refused(content: bytes) -> None:
    with pytest.raises(ArtifactError):
        Report.from_bytes(content)


def test_a_truncated_report_is_refused(sample_report: Report) -> None:
    content = sample_report.to_bytes()
    for size in (10, len(content) // 2, len(content) - 1):
        with pytest.raises(ArtifactError):
            Report.from_bytes(content[:size])


def test_a_failed_write_leaves_the_old_file(sample_report: Report, tmp_path: Path) -> None:
    path = tmp_path / "a.wbr"
    sample_report.save(path)
    before = path.read_bytes()
    broken = Report(extra={"not json": object()})
    with pytest.raises(TypeError):
        broken.save(path)
    assert path.read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == ["a.wbr"]


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(ArtifactError, match=r"nothing\.wbr"):
        Report.load(tmp_path / "nothing.wbr")


def test_texts_that_share_lines_share_storage() -> None:
    writer = TextWriter()
    before = "\n".join(f"line {i}" for i in range(1000))
    after = before.replace("line 500", "line five hundred")
    keys = [writer.add(before), writer.add(after), writer.add(before)]
    texts = writer.finish()
    assert keys[0] == keys[2]
    assert texts[keys[1]] == after
    assert len(texts.to_json()["lines"]) == 1001


def test_a_part_that_grows_without_bound_is_refused(sample_report: Report) -> None:
    bomb = gzip.compress(bytes(300 << 20), compresslevel=1)
    with pytest.raises(ArtifactError, match=r"more than \d+ bytes"):
        Report.from_bytes(bomb)


@pytest.mark.parametrize(
    ("data", "words"),
    [
        ({"lines": ["a"], "texts": {"t": [0, 7]}}, "line 7 is missing"),
        ({"lines": ["a", {}], "texts": {"t": [0, 1]}}, r"lines\[1\] is {}: expected a text"),
        (
            {"lines": ["a"], "texts": {"t": ["0"]}},
            r"texts\['t'\]\[0\] is '0': expected a whole",
        ),
        ({"lines": ["a"]}, "texts is missing: expected a dict"),
    ],
)
def test_damaged_texts_are_said_in_words(data: dict[str, Any], words: str) -> None:
    with pytest.raises(ArtifactError, match=rf"its texts\): {words}"):
        dict(LazyTexts(lambda: data))
