"""The model prefers what is known to be good, and says what cannot be."""

from __future__ import annotations

import pytest
import torch

from tests.compiler.virtual_gpu.gpus import H100
from tests.compiler.virtual_gpu.jobs import job
from workbench.analysis.kernel_time.kernel_time import LibraryCall, time_kernel
from workbench.analysis.kernel_time.kernel_time import TemplateTile as Tile
from workbench.analysis.kernel_time.kernel_time import TemplateWork as Work
from workbench.compiler.virtual_gpu.client import CrossCompiler

RATE = H100.spec.matrix.of("bf16") or 0.0
LARGE = Work(1, 8192, 8192, 8192, 2, 2, RATE)


def time(tile: Tile, product: Work = LARGE) -> float:
    return time_kernel(product, tile, H100.spec).us or 0.0


def test_large_tiles_win_for_large_matrices() -> None:
    assert (
        time(Tile(128, 128, 64, 8, 4)) < time(Tile(64, 64, 64, 4, 4)) < time(Tile(16, 16, 64, 2, 4))
    )


def test_more_stages_hide_latency_until_shared_memory_is_full() -> None:
    assert time(Tile(128, 128, 64, 8, 4)) <= time(Tile(128, 128, 64, 8, 1))
    full = time_kernel(LARGE, Tile(256, 256, 128, 8, 5), H100.spec)
    assert full.us is None
    assert full.because.startswith("needs more shared memory than a block can have")


def test_small_tiles_win_where_large_ones_leave_multiprocessors_idle() -> None:
    small = Work(1, 256, 256, 8192, 2, 2, RATE)
    assert time(Tile(32, 32, 64, 4, 4), small) < time(Tile(128, 128, 64, 8, 4), small)


def test_nothing_is_faster_than_the_roofline() -> None:
    roofline = LARGE.flops / (RATE * 1e6)
    assert (time_kernel(LARGE, LibraryCall("mm"), H100.spec).us or 0) > roofline
    assert time(Tile(128, 256, 64, 8, 4)) > roofline


@pytest.mark.slow
def test_estimates_are_marked_in_the_report(worker: CrossCompiler) -> None:
    a = torch.randn(1024, 1024, dtype=torch.bfloat16)
    options = {"max_autotune": True, "max_autotune_gemm_backends": "TRITON"}
    report = worker.compiled(job(torch.mm, a, a, options=options)).report
    possible = [row for row in report.autotune if row.time_ms is not None]
    assert {row.note for row in possible} == {"estimated by a model, not timed"}
    impossible = {row.note for row in report.autotune if row.time_ms is None}
    assert impossible == {"needs more shared memory than a block can have (modelled)"}
    chosen = [row for row in report.autotune if row.chosen]
    assert min(possible, key=lambda row: row.time_ms or 0) in chosen
    assert chosen[0].choice != report.autotune[0].choice
