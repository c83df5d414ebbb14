"""Files that are cut off, damaged or hostile: what can be read is shown, or a sentence."""

from __future__ import annotations

import gzip
import json
import random
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import workbench as wb
from tests.worlds.profiles.reading.synthetic_trace import SyntheticTrace, build_step
from workbench.report.presenter import presenter
from workbench.worlds.profiles.reading import event_batches, trace_stream

STEP = json.dumps(build_step(2, backward=True).to_json())
VALUES: tuple[Any, ...] = (
    *(None, True, -1, -0.5, 1e308, 2**63, 2**80, "x", "12", "", [], {}, [1], {"a": 1}, [[]]),
    float("nan"),
    float("inf"),
    "nn.Module: ",
    json.loads("[" * 400 + "]" * 400),
)


def read(content: str | bytes, folder: Path, name: str = "trace.json") -> wb.RunProfile:
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode("utf-8", "replace"))
    return wb.read_profile(path)


def use(profile: wb.RunProfile) -> None:
    """Ask for everything that a profile gives."""
    for name in profile.tables:
        profile.frame(name)
    presenter().text(profile)
    presenter().sentences(profile)
    again = wb.RunProfile.from_bytes(profile.to_bytes(), "again")
    assert again.header == profile.header


@pytest.mark.parametrize("share", [0.2, 0.5, 0.9, 0.99])
def test_a_file_that_is_cut_off_shows_what_is_there(share: float, tmp_path: Path) -> None:
    p = read(STEP[: int(len(STEP) * share)], tmp_path)
    use(p)
    assert "not read to its end" in p.notes[0]


def test_a_compressed_file_that_is_cut_off_shows_what_is_there(tmp_path: Path) -> None:
    trace = build_step(40)
    chance = random.Random(7)
    for event in trace.events:
        event["note"] = chance.random()
    packed = gzip.compress(json.dumps(trace.to_json()).encode())
    p = read(packed[: len(packed) * 2 // 3], tmp_path, "trace.json.gz")
    assert "its compressed data ends" in p.notes[0]
    assert p.total_us > 0


def test_damaged_compressed_data_is_a_sentence(tmp_path: Path) -> None:
    packed = bytearray(gzip.compress(STEP.encode()))
    packed[20:40] = b"\xff" * 20
    with pytest.raises(wb.ArtifactError, match="compressed data is damaged"):
        read(bytes(packed), tmp_path, "trace.json.gz")


@pytest.mark.parametrize("chunk", [64, 1000, 1 << 20])
def test_batches_end_where_events_do(
    chunk: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trace = build_step(3)
    trace.add("cpu_op", 'a "}, {" b\\', 0.0, 1.0, args={"of": [{"a": 1}, {"b": "]"}]})
    whole = wb.read_profile(trace.write(tmp_path / "trace.json"))
    for module in (event_batches, trace_stream):
        monkeypatch.setattr(module, "CHUNK", chunk)
    small = wb.read_profile(tmp_path / "trace.json")
    assert small.header == whole.header
    assert list(small.tables["kernels"]) == list(whole.tables["kernels"])


@pytest.mark.parametrize("tail", ["", ', "stackFrames": ' + json.dumps([{"a": [1]}] * 9000)])
def test_what_follows_the_events_is_no_event(tail: str, tmp_path: Path) -> None:
    text = STEP.replace('"displayTimeUnit": "ms"}', f'"displayTimeUnit": "ms"{tail}}}')
    p = read(text, tmp_path)
    assert p.header.events == len(json.loads(STEP)["traceEvents"])
    assert not any("left out" in note for note in p.notes)


def test_events_in_a_plain_list_are_read(tmp_path: Path) -> None:
    events = json.dumps(json.loads(STEP)["traceEvents"])
    assert read(events, tmp_path).total_us == read(STEP, tmp_path, "b.json").total_us


@pytest.mark.parametrize("wrong", ["nan", "-inf", "NaN", "Infinity"])
def test_numbers_that_are_none_cost_one_event(wrong: str, tmp_path: Path) -> None:
    trace = build_step(2)
    trace.add("kernel", "wrong", 0.0, 1.0)
    text = json.dumps(trace.to_json())
    p = read(text.replace('"ts": 0.0, "dur": 1.0', f'"ts": 0.0, "dur": {wrong}'), tmp_path)
    assert p.total_us == 294.0
    assert p.notes[0] == "Omitted: 1 unreadable event."


def test_an_event_that_ends_before_it_begins_is_left_out(tmp_path: Path) -> None:
    trace = build_step(2)
    trace.launch("wrong", 0.0, 500.0, -3.0)
    p = wb.read_profile(trace.write(tmp_path / "t.json"))
    assert p.total_us == 294.0
    assert p.notes[0] == "Omitted: 1 event with a negative duration."


def test_kernels_that_overlap_on_a_stream_are_said(tmp_path: Path) -> None:
    trace = SyntheticTrace()
    trace.launch("a", 0.0, 10.0, 10.0)
    trace.launch("b", 1.0, 15.0, 10.0)
    p = wb.read_profile(trace.write(tmp_path / "t.json"))
    assert (p.total_us, p.busy_us) == (15.0, 15.0)
    assert p.notes[0].startswith("1 kernel started before the previous one on the same stream")


def test_ids_as_texts_are_read(tmp_path: Path) -> None:
    trace = build_step(2)
    for event in trace.events:
        args = event.get("args", {})
        event["args"] = {k: str(v) if isinstance(v, int) else v for k, v in args.items()}
    p = wb.read_profile(trace.write(tmp_path / "t.json"))
    assert (p.total_us, next(iter(p.tables["kernels"])).operator) == (294.0, "aten::mm")


def test_of_a_key_that_is_there_twice_the_last_counts(tmp_path: Path) -> None:
    p = read(STEP.replace('"dur": 60.0', '"dur": 1.0, "dur": 60.0'), tmp_path)
    assert p.total_us == read(STEP, tmp_path, "b.json").total_us


def test_unescaped_paths_and_broken_characters_are_read(tmp_path: Path) -> None:
    text = STEP.replace("vectorized_elementwise_kernel", "C:\\\\Users\\\\x").encode()
    spoiled = text.replace(b"C:\\\\Users\\\\x", b"C:\\Users\\x\xff")
    p = read(spoiled, tmp_path)
    assert p.total_us == read(STEP, tmp_path, "b.json").total_us


def test_deep_nesting_costs_one_event(tmp_path: Path) -> None:
    deep = '{"cat": "kernel", "args": ' + "[" * 100_000 + "]" * 100_000 + "}, "
    p = read(STEP.replace('"traceEvents": [', f'"traceEvents": [{deep}'), tmp_path)
    assert p.total_us == read(STEP, tmp_path, "b.json").total_us
    assert "unreadable" in p.notes[0]


def test_a_bomb_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trace_stream, "_LEAST_UNPACKED", 1 << 20)
    bomb = STEP.replace('"traceEvents": [', '"traceEvents": [' + " " * (16 << 20))
    with pytest.raises(wb.ArtifactError):
        read(gzip.compress(bomb.encode()), tmp_path, "trace.json.gz")


def test_many_names_streams_and_functions_are_read(tmp_path: Path) -> None:
    trace = SyntheticTrace()
    for at in range(20_000):
        trace.launch(f"kernel {at}", at * 10.0, at * 10.0 + 5, 2.0, by=f"call {at}", stream=at)
    p = wb.read_profile(trace.write(tmp_path / "t.json"))
    assert len(p.tables["kernels"]) == 20_000
    for name in ("streams", "launches"):
        assert (len(p.tables[name]), p.tables[name].omitted) == (500, 19_500)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "is empty"),
        (b"\x80\x04\x95", "is a pickle, such as a torch.cuda.memory snapshot, not a"),
        (b"\x89PNG\r\n", "is an image, not a"),
        (b"no\x80trace", "is not a trace"),
        (b"\x1f\x8b" + b"junk" * 20, "has no events: its compressed data is damaged after 0 bytes"),
        (b'{"traceEvents": [{"ph"', "has no complete events: its list of events is cut off"),
        (b'{"traceEvents": [' + b"[" * 10_000, "has no complete events: its list of events"),
        (b'{"schema": 3}', "is an aot-workbench file"),
        (b'{"event_type": "compilation"}', "is a tritonparse log"),
        (b'{"traceEvents": []}', "without events"),
        (b'{"traceEvents": [1, "a", null, [2]]}', "has 4 events, but none"),
        (b'{"traceEvents": [{"ph": "M", "args": {"name": "/device:TPU:0"}}]}', "is a JAX"),
        (b'{"traceEvents": [{"ph": "X", "cat": "v8", "ts": 1, "dur": 2}]}', "its categories: v8"),
        (
            b'{"traceEvents": [{"ph": "X", "cat": "kernel"}]}',
            "is damaged: fields of its 1 event",
        ),
    ],
)
def test_what_is_no_trace_of_torch_is_said_to_be_none(
    content: bytes, said: str, tmp_path: Path
) -> None:
    with pytest.raises(wb.ArtifactError, match=said):
        read(content, tmp_path)


def test_a_missing_file_and_a_pipe_are_sentences(tmp_path: Path) -> None:
    with pytest.raises(wb.ArtifactError, match="No such file"):
        wb.read_profile(tmp_path / "none.json")
    with pytest.raises(wb.ArtifactError, match="not a regular file"):
        wb.read_profile("/dev/null")


def spoil(value: Any, chance: random.Random) -> Any:
    """The value with one part of it, at any depth, replaced by something else."""
    if isinstance(value, dict) and value and chance.random() < 0.9:
        name = chance.choice([*value])
        return {**value, name: spoil(value[name], chance)}
    if isinstance(value, list) and value and chance.random() < 0.8:
        at = chance.randrange(len(value))
        return [*value[:at], spoil(value[at], chance), *value[at + 1 :]]
    return chance.choice(VALUES)


def list_spoiled(count: int) -> Iterator[str]:
    chance = random.Random(7)
    whole = json.loads(STEP)
    for _ in range(count):
        made = whole
        for _ in range(chance.choice((1, 5, 60))):
            made = (
                spoil(made, chance)
                if chance.random() < 0.1
                else {**made, "traceEvents": spoil_events(made["traceEvents"], chance)}
            )
            if not isinstance(made, dict) or not isinstance(made.get("traceEvents"), list):
                break
        yield json.dumps(made)


def spoil_events(events: Any, chance: random.Random) -> list[Any]:
    at = chance.randrange(len(events) or 1)
    return [*events[:at], spoil((events or [{}])[at], chance), *events[at + 1 :]]


@pytest.mark.parametrize("count", [60, pytest.param(1000, marks=pytest.mark.slow)])
def test_values_of_other_types_break_nothing(count: int, tmp_path: Path) -> None:
    for number, text in enumerate(list_spoiled(count)):
        try:
            use(read(text, tmp_path))
        except wb.WorkbenchError:
            continue
        except Exception as error:
            (tmp_path / "kept.json").write_text(text)
            raise AssertionError(f"variant {number}: {tmp_path}/kept.json") from error


def test_kernels_that_take_no_time_are_a_profile(tmp_path: Path) -> None:
    trace = SyntheticTrace()
    trace.launch("a", 0.0, 5.0, 0.0)
    trace.launch("b", 1.0, 5.0, 0.0)
    p = wb.read_profile(trace.write(tmp_path / "t.json"))
    use(p)
    p.to_html()
    assert (p.total_us, p.busy_us) == (0.0, 0.0)


def test_half_of_a_pair_of_surrogates_in_a_name_breaks_no_table(tmp_path: Path) -> None:
    text = STEP.replace("aten::mm", r"\ud800mm").replace("model.py(5)", r"\ud83d\ude00.py(5)")
    p = read(text, tmp_path)
    use(p)
    p.to_html()
    assert "\ufffdmm" in p.frame("kernels").operator.to_list()
    assert any("\U0001f600.py" in row.line for row in p.tables["lines"])


def test_calls_of_a_driver_alone_are_said_to_be_no_work(tmp_path: Path) -> None:
    trace = SyntheticTrace()
    trace.wait("cudaDeviceSynchronize", 0.0, 5.0)
    with pytest.raises(wb.errors.ArtifactError, match="only driver or Python calls"):
        wb.read_profile(trace.write(tmp_path / "t.json"))


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (
            gzip.compress(STEP.encode(), mtime=0)[:120],
            "has no events: its compressed data ends after",
        ),
        (b"SQLite format 3\x00" + bytes(500), "a SQLite database, such as an Nsight"),
        (b"\x28\xb5\x2f\xfd" + bytes(500), "zstd-compressed"),
    ],
)
def test_what_is_no_trace_is_told_by_how_it_begins(
    content: bytes, says: str, tmp_path: Path
) -> None:
    with pytest.raises(wb.errors.ArtifactError, match=says):
        read(content, tmp_path, "trace.json.gz")


def test_an_event_longer_than_any_is_passed_over_and_the_rest_read(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(event_batches, "_LONGEST", 1 << 19)
    events = json.dumps(build_step(2).events)[1:-1]
    long = (
        '{"ph":"X","cat":"cpu_op","name":"' + "a" * (3 << 20) + '","pid":1,"tid":1,"ts":1,"dur":2}'
    )
    p = read(f'{{"traceEvents":[{events},{long},{events}]}}', tmp_path)
    assert p.header.events == 2 * len(build_step(2).events)
    assert "1 unreadable event" in p.notes[0]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ('{"schema": "1.1.1-chakra.0.0.4", "pid": 1, "nodes": []}', "is a torch execution trace"),
        ("[[1, 2], [[0], [0]]]", "is a torch.profiler memory timeline"),
        ("[[-1, 0, [1, 2], 3]]", "is a torch.profiler memory timeline"),
        ("[]," * 100_000, "no traceEvents list"),
    ],
)
def test_json_of_others_is_said_to_be_that(tmp_path: Path, content: str, words: str) -> None:
    path = tmp_path / "other.json.gz"
    path.write_bytes(gzip.compress(content.encode()))
    with pytest.raises(wb.ArtifactError, match=words):
        wb.read_profile(path)


def pack(begin: bytes, repeated: bytes) -> bytes:
    """A trace that unpacks to 128 MB of what is no event, in 200 kB."""
    packer = zlib.compressobj(1, zlib.DEFLATED, 31)
    block = repeated * ((1 << 20) // len(repeated))
    parts = [packer.compress(begin), *(packer.compress(block) for _ in range(128))]
    return b"".join((*parts, packer.flush()))


@pytest.mark.parametrize(
    ("repeated", "words"),
    [
        (b"[],", "most of its entries are not events"),
        (b"{},", "none of its events has a category"),
        pytest.param(b"[", "most of its entries are not events", marks=pytest.mark.slow),
        pytest.param(b'{"a":', "most of its entries are not events", marks=pytest.mark.slow),
        pytest.param(b'"",', "most of its entries are not events", marks=pytest.mark.slow),
        pytest.param(b'"', "most of its entries are not events", marks=pytest.mark.slow),
        pytest.param(b'{"a" 1},', "most of its entries are not events", marks=pytest.mark.slow),
    ],
)
def test_what_holds_no_events_is_given_up_soon(
    tmp_path: Path, repeated: bytes, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Files of 400 kB took 11 s to more than 2 minutes of a CPU: all of them was looked through."""
    chunks = []
    read_chunk = trace_stream.TraceStream.read
    monkeypatch.setattr(
        trace_stream.TraceStream, "read", lambda self: chunks.append(1) or read_chunk(self)
    )
    with pytest.raises(wb.ArtifactError, match=words):
        read(pack(b'{"traceEvents": [', repeated), tmp_path, "trace.json.gz")
    assert len(chunks) < 100  # of 512
