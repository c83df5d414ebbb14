"""Questions about one kernel, and what is said where there is no answer."""

from __future__ import annotations

from typing import Any

import pytest
import torch

import workbench as wb
from tests.worlds.own_kernels.programs import size_kernels as sizes
from tests.worlds.own_kernels.programs.kernels import add
from tests.worlds.own_kernels.programs.test_all_kernels import CASES
from workbench.compiler.interpreter.watched.watched_call import AccessLog, Watched
from workbench.compiler.kernel_checks.kernel_checking import (
    OF_SIZES,
    Checked,
    CheckQuestion,
    check_call,
    describe_run,
)
from workbench.compiler.kernels.kernel_call import KernelCall

X = torch.arange(1000.0)


def made(n: int = 1000, **more: Any) -> KernelCall:
    grid = more.get("grid", (4,))
    return KernelCall.of(add, (X, X + 1, torch.empty(1000), n), grid, {"BLOCK": 256})


def test_values_are_held_to_the_reference() -> None:
    wrong = check_call(made(), CheckQuestion(lambda x, y, out, n: x + y + (x == 300), fresh="out"))
    (row,) = wrong.findings
    assert (row.kind, row.argument, row.index, row.program) == ("differs", "out", (300,), (1,))
    assert row.text == (
        "Differs: out[300] should be 602 (line 16 wrote 601), and 1 of 1,000 elements differs."
    )
    assert row.programs == (1,)


@pytest.mark.parametrize(
    "reference",
    [
        lambda x, y, out, n: x + y,
        lambda x, y, out, n: {"out": x + y},
        lambda x, y, out, n: [x + y],
        lambda x, y: x + y,
        lambda x, y, BLOCK: x + y + 0 * BLOCK,
        lambda x, y, out, n: _fill(out, x + y),
    ],
)
def test_a_reference_gives_values_in_any_of_these_ways(reference: Any) -> None:
    found = check_call(made(), CheckQuestion(reference, writes="out"))
    assert [case.verdict for case in found.cases] == ["passed"], found


def _fill(out: torch.Tensor, values: torch.Tensor) -> None:
    out.copy_(values)


@pytest.mark.parametrize(
    ("reference", "words"),
    [
        (lambda *_: 1 / 0, "values: the reference raised ZeroDivisionError: division by zero"),
        (lambda *_: (X, X), "the reference must return a tensor for each of out"),
        (lambda *_: X[:3], "the reference returns [3] for out, which is [1000]"),
        (lambda *_: 3.0, "the reference must return a tensor for each of out"),
    ],
)
def test_a_reference_that_gives_none_is_a_sentence(reference: Any, words: str) -> None:
    (case,) = check_call(made(), CheckQuestion(reference)).cases
    assert case.verdict == "not checked"
    assert words in case.not_judged[0]


@pytest.mark.parametrize(
    "question",
    [
        CheckQuestion(fresh="o"),
        CheckQuestion(writes=("n",)),
        CheckQuestion(sample=0),
        CheckQuestion(time_limit=0),
        CheckQuestion(time_limit=1000),
    ],
)
def test_a_question_that_is_none_is_refused(question: CheckQuestion) -> None:
    with pytest.raises(wb.UsageError):
        check_call(made(), question)


def test_of_a_sample_only_what_it_wrote_is_judged() -> None:
    big = torch.arange(64 * 256.0)
    call = KernelCall.of(add, (big, big, torch.empty_like(big), 64 * 256), (64,), {"BLOCK": 256})
    question = CheckQuestion(lambda x, y, out, n: x + y, fresh="out", sample=9, cases=None)
    (case,) = check_call(call, question).cases
    assert (case.verdict, case.programs) == ("passed", 9)
    assert "9 of 64 program instances were run; the others are unchecked." in case.notes


LARGE = (1 << 31) + 4096
"""Elements, of 8.6 GB: numbers of 32 bits do not count them."""


def check_on_meta(kernel: Any, *args: Any, BLOCK: int = 1024, **meta: Any) -> Checked:
    grid = (-(-args[-1] // BLOCK),)
    return check_call(KernelCall.of(kernel, args, grid, {"BLOCK": BLOCK, **meta}), CheckQuestion())


def test_sizes_alone_show_offsets_that_32_bits_do_not_hold() -> None:
    x = torch.empty(LARGE, device="meta")
    wrong = check_on_meta(sizes.double_all, x, x, LARGE, WIDE=False)
    assert {row.kind for row in wrong.findings} == {"out of bounds"}
    assert "reads x[-2147" in wrong.findings[0].text
    assert wrong.cases[0].verdict == "failed"
    (case,) = check_on_meta(sizes.double_all, x, x, LARGE, WIDE=True).cases
    assert (case.verdict, case.judged) == ("not checked", (OF_SIZES,))
    assert "on the meta device" in case.not_judged[0]
    assert "1,024 of 2,097,156 program instances were run" in case.notes[0]


def test_what_integers_without_numbers_lead_to_is_not_judged() -> None:
    x, index = torch.empty(64, device="meta"), torch.empty(64, dtype=torch.int64, device="meta")
    checked = check_on_meta(sizes.take, x, index, x, 64, BLOCK=64)
    (case,) = checked.cases
    assert (checked.findings, case.verdict, case.judged) == ((), "not checked", ())
    assert case.not_judged[0].startswith(
        "accesses that may depend on values of index: tensors on the meta device"
    )
    held = check_on_meta(sizes.take, x, torch.arange(64) + 1, x, 64, BLOCK=64)
    assert [row.argument for row in held.findings] == ["x"]  # its numbers are known


def test_bytes_and_operations_are_counted() -> None:
    case = CASES["matmul"]()
    call = KernelCall.of(case.kernel, case.args, case.grid, case.meta)
    found = check_call(call, CheckQuestion(cases=None))
    (row,) = found.cases
    assert row.least_read_bytes == 100 * 72 * 2 + 72 * 96 * 2
    assert row.least_written_bytes == 100 * 96 * 2
    assert dict(row.operations)["dot fp16"] == 2 * 128 * 96 * 96  # with what fills the blocks
    assert found.log is not None
    assert found.log.unique_bytes("a") == 100 * 72 * 2


@pytest.mark.parametrize(
    ("is_whole", "stopped", "least"), [(True, "", 0), (False, "", None), (True, "it ended", None)]
)
def test_least_bytes_are_those_of_a_whole_run_alone(
    is_whole: bool, stopped: str, least: int | None
) -> None:
    log = AccessLog((4, 1, 1), (), programs=4, is_whole=is_whole)
    watched = Watched(log, (), {}, {}, stopped=stopped)
    row = describe_run("add", "", watched, [], ["races"], [stopped] if stopped else [], [])
    assert (row.least_read_bytes, row.least_written_bytes) == (least, least)
    assert row.verdict == ("not checked" if stopped else "passed")
