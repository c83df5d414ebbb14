from __future__ import annotations

import gzip
import hashlib
import io
from pathlib import Path

import pytest

from workbench.worlds.logs.reading import log_records
from workbench.worlds.logs.reading.content import read_content
from workbench.worlds.logs.reading.log_records import Bounds, LogReader, LogRecord

HEAD = "V1121 16:46:54.983000 8586 torch/_dynamo/utils.py:2350] "


def record(kind: str, payload: str | None = None, more: str = "") -> str:
    if payload is None:
        return f'{HEAD}{{"{kind}": {{}}{more}}}\n'
    digest = hashlib.md5(payload.encode()).hexdigest()
    lines = "".join(f"\t{line}\n" for line in payload.split("\n"))
    return f'{HEAD}{{"{kind}": {{}}{more}, "has_payload": "{digest}"}}\n{lines}'


def read(text: str) -> tuple[list[LogRecord], LogReader]:
    reader = LogReader(io.BytesIO(text.encode()))
    return list(reader.records()), reader


def test_payloads_come_back_as_they_were_written() -> None:
    payloads = ["one", "two\n\nlines\n", "", '{\n"a": 1\n}', "\ttabs\n\t\tand é"]
    found, reader = read("".join(record("kind", payload) for payload in payloads))
    assert [item.text() for item in found] == payloads
    assert all(item.is_whole() for item in found)
    assert found[3].json() == {"a": 1}
    assert not list(reader.damage.sentences())


def test_compilations_have_torchs_names() -> None:
    inside = ', "frame_id": 3, "frame_compile_id": 1'
    backward = ', "compiled_autograd_id": 2' + inside
    ours = ', "frame_id": 7001, "frame_compile_id": 0'
    found, _ = read("".join(record("k", None, more) for more in (inside, backward, "", ours)))
    assert [item.compile_id for item in found] == ["3/1", "!2/3/1", None, "!2/3/1"]


def test_foreign_lines_are_counted_and_break_nothing() -> None:
    text = (
        "starting up\n\n"
        + record("a", "whole")
        + "W1121 a warning\n"
        + "[rank1]:"
        + record("b", "of a rank")
        + "not a payload\n\tof nothing\n"
        + record("c")
    )
    found, reader = read(text)
    assert [(item.name, item.is_whole()) for item in found] == [
        ("a", True),
        ("b", True),
        ("c", True),
    ]
    assert reader.damage.foreign == 4


def test_a_line_in_the_midst_of_a_payload_is_noticed() -> None:
    found, _ = read(record("a", "one\ntwo").replace("\ttwo", "noise\n\ttwo"))
    assert not found[0].is_whole()


@pytest.mark.parametrize("cut", [1, 5, 20, 60, 100])
def test_a_log_that_ends_inside_of_a_record(cut: int) -> None:
    text = record("a", "whole") + record("b", "the last one of this log\n" * 3)
    found, reader = read(text[:-cut])
    assert found[0].text() == "whole"
    assert reader.damage.cut_off is (cut > 1)


def test_metadata_that_is_no_json_is_counted() -> None:
    found, reader = read(record("a") + f"{HEAD}{{oops\n" + record("b"))
    assert [item.name for item in found] == ["a", "b"]
    assert reader.damage.unreadable == 1
    assert not reader.damage.cut_off


def test_blocks_of_any_size_give_the_same_records(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "".join(record(f"k{n}", f"payload {n}\n" * n) for n in range(40)) + "end\n"
    expected = [(item.name, item.text()) for item in read(text)[0]]
    for size in (1, 7, 64, 1000):
        monkeypatch.setattr(log_records, "_BLOCK", size)
        found, reader = read(text)
        assert [(item.name, item.text()) for item in found] == expected
        assert reader.damage.foreign == 1


def test_a_payload_beyond_the_limit_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log_records, "_BLOCK", 256)
    monkeypatch.setattr(log_records, "LARGEST", 4096)
    text = record("a", "first") + record("b", "x" * 50 + "\n" + "y\n" * 9000) + record("c", "last")
    found, reader = read(text)
    assert [(item.name, item.text()) for item in found] == [
        ("a", "first"),
        ("b", ""),
        ("c", "last"),
    ]
    assert reader.damage.oversized == 1
    assert reader.damage.foreign == 0


def test_what_is_no_log_has_no_records() -> None:
    found, reader = read("just\nsome text\n" * 100)
    assert not found
    assert reader.damage.foreign == 200


def test_one_is_told_as_one() -> None:
    assert list(log_records.Damage(foreign=1, unreadable=2, changed=1).sentences()) == [
        "skipped 1 line outside any record",
        "skipped 2 unreadable records",
        "1 payload with lost or changed lines",
    ]


@pytest.mark.parametrize(
    "piece",
    [b" " * 4096, b"\n" * 4096, b"x" * 4096, b"\t\n" * 2048, bytes(4096), HEAD.encode() * 60],
)
def test_bytes_that_are_no_record_end_the_reading_and_are_not_kept(piece: bytes) -> None:
    class Endless(io.RawIOBase):
        given = 0

        def read1(self, size: int) -> bytes:
            self.given += size
            return (piece * (1 + size // len(piece)))[:size]

    endless = Endless()
    reader = LogReader(endless)
    assert not list(reader.records())
    assert endless.given <= 32 << 20
    (sentence, *_) = [s for s in reader.damage.sentences() if "not read" in s]
    assert sentence == "the rest of the log was not read: 16 consecutive MiB contain no record"


def test_a_record_after_a_huge_line_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log_records, "LARGEST", 1 << 20)
    monkeypatch.setattr(log_records, "_LONGEST_LINE", 1 << 16)
    monkeypatch.setattr(log_records, "_BLOCK", 1 << 18)
    huge = "x" * (3 << 20) + "\n"
    found, reader = read(record("a") + huge + record("b", huge) + record("c"))
    assert [each.name for each in found] == ["a", "b", "c"]
    assert (reader.damage.oversized, reader.damage.foreign) == (2, 0)


def test_a_line_of_metadata_that_is_too_long_is_not_parsed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log_records, "_LONGEST_LINE", 1 << 16)
    long = ', "x": "' + "y" * (1 << 17) + '"'
    found, reader = read(record("a", None, long) + record("b"))
    assert [each.name for each in found] == ["b"]
    assert reader.damage.unreadable == 1


def test_what_is_packed_a_thousandfold_is_not_unpacked_whole(tmp_path: Path) -> None:
    small = record("dynamo_start", None, ', "stack": []').encode() * 2_000
    packed = gzip.compress(small, 1)
    content = read_content(io.BytesIO(small * 40), Bounds(whole=5 << 20))
    assert content.damage.given_up == "it exceeds 5 MiB unpacked"
    content = read_content(io.BytesIO(small * 3), Bounds(kept=1 << 20))
    assert content.damage.given_up == "the part read so far takes 1 MiB"
    assert len(packed) < len(small) // 50
