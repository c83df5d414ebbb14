"""What was compiled of a kernel is taken from the store of sweeps, and nothing else is."""

from __future__ import annotations

import sqlite3
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import torch
import triton
import triton.language as tl

import workbench as wb
from tests.worlds.own_kernels.handles.test_tuning import FEW, make_add, make_product
from workbench.artifacts.trials.store import Store
from workbench.compiler.virtual_gpu.kernel_choice import Build, Built
from workbench.worlds.own_kernels.handles import stored_builds, tuning
from workbench.worlds.own_kernels.handles.own_kernel import OwnKernel

SPACE = {"BLOCK": [256, 512], "num_warps": [2, 4]}
BY: tl.constexpr = tl.constexpr(2)
HELD = iter([{}])


@triton.jit
def scale_by(x):
    return x * BY


@triton.jit
def scale(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, scale_by(tl.load(x + at, mask=at < n)), mask=at < n)


@triton.jit
def sum_products(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + at, mask=at < n)
    for _ in tl.static_range(8):
        value = value * 1.5 + tl.load(out + at, mask=at < n)
        tl.store(out + at, value, mask=at < n)


def make_product_of_sums() -> OwnKernel:
    return make_scale(fn=sum_products)


def make_scale(n: int = 4096, fn: Any = scale, dtype: torch.dtype = torch.float32) -> OwnKernel:
    x = torch.ones(n, dtype=dtype)
    return wb.kernel(fn, x, x, n, grid=(64,), target="h100", BLOCK=64)


@pytest.fixture
def store(tmp_path: Path) -> Path:
    return tmp_path / "tuned.sqlite"


def test_a_second_run_compiles_nothing_and_says_so(
    store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = make_add().tune(space=SPACE, store=store)
    assert (first.from_store, first.remarks) == (0, ())

    def refuse(*_: Any) -> None:
        raise AssertionError("it is compiled again")

    monkeypatch.setattr(tuning, "build_all", refuse)
    again = make_add().tune(space=SPACE, store=str(store))
    assert again.cases == first.cases
    assert again.from_store == 4
    assert again.remarks == (
        "4 of 4 compiled configurations were read from the store of an earlier run.",
    )


def test_the_loop_of_a_product_comes_from_the_store_too(store: Path) -> None:
    space = FEW | {"BLOCK_SIZE_K": [128], "num_stages": [3, 4]}
    first, again = (make_product().tune(space=space, store=store) for _ in range(2))
    assert again.from_store == 2
    assert again.cases == first.cases
    assert all(each.because for each in again.cases[0].ranked)


def test_other_sizes_that_triton_compiles_alike_are_known(store: Path) -> None:
    make_scale(4096).tune(space=SPACE, store=store)
    assert make_scale(8192).tune(space=SPACE, store=store).from_store == 4
    assert make_scale(4097).tune(space=SPACE, store=store).from_store == 0
    assert make_scale(dtype=torch.float64).tune(space=SPACE, store=store).from_store == 0


def test_another_gpu_another_source_or_another_release_is_compiled(
    store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_scale().tune(space=SPACE, store=store)
    assert make_scale().tune("a100", space=SPACE, store=store).from_store == 0
    with monkeypatch.context() as patch:  # a global that a helper reads
        patch.setitem(globals(), "BY", tl.constexpr(3))
        scale_by.hash = scale.hash = None  # as a new process begins
        assert make_scale().tune(space=SPACE, store=store).from_store == 0
    scale_by.hash = scale.hash = None
    with monkeypatch.context() as patch:
        patch.setattr(stored_builds, "list_releases", lambda: ["triton 0"])
        assert make_scale().tune(space=SPACE, store=store).from_store == 0
    assert make_scale().tune(space=SPACE, store=store).from_store == 4


def test_what_triton_compiled_by_other_switches_is_not_taken(
    store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    space = {"BLOCK": [1024], "num_warps": [1, 2]}
    usual = make_product_of_sums().tune(space=space, store=store)
    with monkeypatch.context() as patch:
        patch.setenv("TRITON_DEFAULT_FP_FUSION", "0")
        other = make_product_of_sums().tune(space=space, store=store)
        assert other.from_store == 0
        assert make_product_of_sums().tune(space=space, store=store).cases == other.cases
    assert make_product_of_sums().tune(space=space, store=store).from_store == 2
    assert usual.cases != other.cases  # compiled anew in a process that has the switch


def test_what_was_interrupted_goes_on(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    keep = stored_builds.StoredBuilds.keep
    kept: list[Built] = []

    def keep_three(self: Any, trial: Any, built: Built) -> None:
        keep(self, trial, built)
        kept.append(built)
        if len(kept) == 3:
            raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(stored_builds.StoredBuilds, "keep", keep_three)
        with pytest.raises(KeyboardInterrupt):
            make_add().tune(space=SPACE, store=store)
    gone_on = make_add().tune(space=SPACE, store=store)
    assert gone_on.from_store == 3
    assert gone_on.cases == make_add().tune(space=SPACE).cases


def test_an_executor_keeps_what_it_compiles_and_drops_what_waits(
    store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun: list[Build] = []
    is_told = threading.Event()

    def build(builds: list[Build], limit_s: float) -> dict[str, Built]:
        begun.extend(builds)
        if len(begun) > 8:
            is_told.wait(30)
        elif len(begun) > 4:
            raise RuntimeError("the worker is lost")
        return dict(real(builds, limit_s))

    real = tuning.build_here
    monkeypatch.setattr(tuning, "build_here", build)
    space = {"BLOCK": [128, 256, 512, 1024], "num_warps": [1, 2, 4, 8]}
    with ThreadPoolExecutor(1) as executor:
        with pytest.raises(RuntimeError, match="the worker is lost"):
            make_add().tune(space=space, store=store, executor=executor)
        is_told.set()
    assert len(begun) < 16  # what waited when the second four were lost was never begun
    monkeypatch.setattr(tuning, "build_here", real)
    with ThreadPoolExecutor(1) as executor:
        assert make_add().tune(space=space, store=store, executor=executor).from_store == 4


def test_a_budget_counts_what_is_known_and_seconds_do_not(store: Path) -> None:
    make_add().tune(space=SPACE, store=store, budget=2)
    counted = make_add().tune(space=SPACE, store=store, budget=2)
    assert counted.from_store == 2
    assert len(counted.cases[0].ranked) == 2
    timed = make_add().tune(space=SPACE, store=store, budget=1e-9)
    assert timed.from_store == 2
    assert len(timed.cases[0].ranked) == 4  # two more are always tried


def test_what_triton_refuses_is_tried_again(store: Path) -> None:
    space = {"BLOCK": [100, 256], "num_warps": [4]}
    first, again = (make_add().tune(space=space, store=store) for _ in range(2))
    assert again.from_store == 1
    assert again.cases == first.cases
    assert "does not compile" in [each.verdict for each in again.cases[0].candidates]


def test_what_is_no_store_is_refused_in_a_sentence(tmp_path: Path, store: Path) -> None:
    other = tmp_path / "notes.txt"
    other.write_text("not a database, and long enough to be one" * 40)
    with pytest.raises(
        wb.ArtifactError, match=r"notes.txt is not a store of trials .* another path"
    ):
        make_add().tune(space=SPACE, store=other)
    with pytest.raises(wb.ArtifactError, match=r"is not a file. Pass the path of a store"):
        make_add().tune(space=SPACE, store=tmp_path)
    with pytest.raises(wb.UsageError, match="store is 3, of type int: expected a str"):
        make_add().tune(space=SPACE, store=3)  # type: ignore[arg-type]


@pytest.mark.parametrize("content", [b"[]", b'{"resources": {}}', b"\xff"])
def test_a_damaged_store_is_refused_in_a_sentence(store: Path, content: bytes) -> None:
    make_add().tune(space=SPACE, store=store)
    with Store(store) as opened:
        for trial in opened.trials():
            opened.keep("harm", trial, content)
    with pytest.raises(
        wb.ArtifactError, match=r"tuned.sqlite is damaged \(kernel=add, .*delete this one"
    ):
        make_add().tune(space=SPACE, store=store)
    with sqlite3.connect(store) as connection:
        connection.execute("UPDATE trials SET row = '{'")
    with pytest.raises(wb.ArtifactError, match=r"tuned.sqlite is damaged"):
        make_add().tune(space=SPACE, store=store)


def test_a_store_of_a_newer_schema_is_not_read(store: Path) -> None:
    make_add().tune(space=SPACE, store=store)
    with sqlite3.connect(store) as connection:
        connection.execute("UPDATE about SET value = '99'")
    with pytest.raises(wb.ArtifactError, match="has schema 99"):
        make_add().tune(space=SPACE, store=store)


def test_sweeps_in_the_same_file_stay_what_they_were(store: Path) -> None:
    make_add().tune(space=SPACE, store=store)
    assert len(wb.Sweep.stored(store)) == 0
    sweep = wb.sweep(
        torch.relu, (torch.ones(8),), over={"mode": ["default"]}, store=store, compile_only=True
    )
    assert len(wb.Sweep.load(store)) == len(sweep) == 1
    assert make_add().tune(space=SPACE, store=store).from_store == 4


@triton.jit(launch_metadata=lambda *_: next(HELD))
def tell(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at, mask=at < n), mask=at < n)


def test_what_cannot_be_compared_is_compiled_and_named(store: Path) -> None:
    made = [make_scale(fn=tell).tune(space={"num_warps": [4]}, store=store) for _ in range(2)][1]
    assert made.from_store == 0
    assert made.remarks[0].startswith("The store was not used: the global 'HELD'")
    assert "is a list_iterator, which cannot be compared" in made.remarks[0]
