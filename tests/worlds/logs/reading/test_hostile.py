"""Logs whose records say something else than torch writes: sentences, never raw errors."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import orjson
import pytest

import workbench as wb
from workbench.report.presenter import presenter

VALUES: tuple[Any, ...] = (
    *(None, True, -1, 0.5, 1e308, 2**63, "x", "", [], {}, [1], {"a": 1}, ["a", 5], [[]]),
    orjson.loads("[" * 400 + "]" * 400),
)
PART = re.compile(rb"^(\t *\"\w+\": )[^\n{\[]+?(?=,?$)", re.MULTILINE)
PROGRAM = re.compile(rb"\t.*(empty_strided|del |extern_kernels|buf\d|def |assert_size|return )")
HEAD = re.compile(rb"^(V\d{4}[^{\n]*\] )(\{.*)$", re.MULTILINE)


def used(path: Path) -> None:
    """Ask for everything that a log gives."""
    trace = wb.read_trace(path)
    for name in ("graphs", "nodes", "kernels", "breaks", "guards", "recompiles", "phases", "cache"):
        trace.frame(name)
    presenter().text(trace)
    trace.save(path.with_suffix(".wbr"))
    session = trace.session()
    presenter().text(session)
    session.save(path.with_suffix(".wbs"))


def spoiled(value: Any, chance: random.Random) -> Any:
    """The value with one part of it, at any depth, replaced by something else."""
    if isinstance(value, dict) and value and chance.random() < 0.85:
        name = chance.choice([*value])
        return {**value, name: spoiled(value[name], chance)}
    if isinstance(value, list) and value and chance.random() < 0.7:
        at = chance.randrange(len(value))
        return [*value[:at], spoiled(value[at], chance), *value[at + 1 :]]
    return chance.choice(VALUES)


def variants(content: bytes, count: int) -> Iterator[bytes]:
    chance = random.Random(7)
    heads = list(HEAD.finditer(content))
    for _ in range(count):
        found, last = [], 0
        for head in sorted(chance.sample(heads, len(heads) // 3), key=lambda one: one.start()):
            other = json.dumps(spoiled(orjson.loads(head[2]), chance)).encode()
            found += [content[last : head.start(2)], other]
            last = head.end(2)
        yield PART.sub(
            lambda part: (
                part[1] + json.dumps(chance.choice(VALUES)).encode()
                if chance.random() < 0.1
                else part[0]
            ),
            b"".join([*found, content[last:]]),
        )


def cut_programs(content: bytes, count: int) -> Iterator[bytes]:
    """The log with some lines of its programs changed: a part left out, doubled or put in."""
    chance = random.Random(7)
    lines = content.split(b"\n")
    own = [number for number, line in enumerate(lines) if PROGRAM.match(line)]
    for _ in range(count):
        made = list(lines)
        for number in chance.sample(own, min(len(own), chance.randint(1, 8))):
            line = made[number]
            at = chance.randrange(1, len(line))
            put = chance.choice((b"", b"(", b")", b"[", b",", b"'", b" = ", b"#", b";", b"buf0"))
            made[number] = line[:at] + put + line[at + chance.randint(0, 10) :]
            if chance.random() < 0.3:
                made[number] = re.sub(rb"\d+", b"9" * 20, made[number], count=2)
        yield b"\n".join(made)


def read_or_refused(variants: Iterator[bytes], name: str, folder: Path) -> None:
    """Raise `AssertionError` for a variant that ends in an error which is none of ours."""
    file = folder / "spoiled.log"
    for number, variant in enumerate(variants):
        file.write_bytes(variant)
        try:
            used(file)
        except wb.WorkbenchError:
            continue
        except Exception as error:
            (folder.parent / f"{name}{number}.log").write_bytes(variant)
            raise AssertionError(f"variant {number} of {name}") from error


@pytest.mark.parametrize("shape", ["failed", "recompiles", "gpu"])
def test_programs_with_damaged_lines_break_nothing(
    shape: str, log: Callable[[str], Path], tmp_path: Path, samples: int
) -> None:
    read_or_refused(cut_programs(log(shape).read_bytes(), 8 * samples), shape, tmp_path)


@pytest.mark.parametrize("shape", ["failed", "recompiles", "gpu"])
def test_values_of_other_types_break_nothing(
    shape: str, log: Callable[[str], Path], tmp_path: Path, samples: int
) -> None:
    read_or_refused(variants(log(shape).read_bytes(), samples), shape, tmp_path)


@pytest.fixture(params=[4, pytest.param(150, marks=pytest.mark.slow)])
def samples(request: pytest.FixtureRequest) -> int:
    return int(request.param)


@pytest.mark.parametrize(
    "meta",
    [
        '{"dynamo_start": {"stack": 5}',
        '{"dynamo_start": {"stack": [5]}',
        '{"compilation_metrics": {"start_time": "yesterday", "co_firstlineno": "one"}',
        '{"compilation_metrics": {"start_time": 1e300, "co_name": 7}',
        '{"compilation_metrics": {"inductor_config": "[1]"}',
        '{"compilation_metrics": 5',
        '{"describe_tensor": {"id": [], "describer_id": {}}',
        '{"str": 5',
    ],
)
def test_a_record_of_another_form_is_passed_over(meta: str, tmp_path: Path) -> None:
    head = "V1121 16:46:54.983000 8586 torch/_dynamo/utils.py:2350] "
    file = tmp_path / "t.log"
    file.write_text(f'{head}{meta}, "frame_id": 0, "frame_compile_id": 0}}\n')
    with suppress(wb.UsageError):  # where it was the only record
        used(file)
