"""The assembly of C++ kernels: read from the built library when somebody looks."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

import workbench as wb
from tests.older_releases import since
from workbench.compiler.machine_code.host_code import read_printed_listings
from workbench.compiler.machine_code.listings import Place
from workbench.report import Report

PRINTED = """
/cache/a.main.so:     file format elf64-x86-64


Disassembly of section .text:

0000000000001080 <kernel.cold>:
    1080:\tud2

0000000000001100 <kernel._omp_fn.0>:
kernel._omp_fn.0():
/cache/a.main.cpp:8
    1100:\tpush   %rbp
add():
/torch/vec.h:40 (discriminator 2)
inlined by /cache/a.main.cpp:9 (kernel._omp_fn.0)
    1101:\tvaddps %zmm0,%zmm1,%zmm0
inlined by /cache/a.main.cpp:10 (kernel._omp_fn.0)
    1107:\tcall   1300 <helper(float)>

0000000000001200 <kernel_py(_object*, _object*)>:
/cache/a.main.cpp:90
    1200:\tcall   1400 <parse()>

0000000000001300 <helper(float)>:
    1300:\tret
"""


def test_a_library_is_read_with_what_is_inlined_and_called() -> None:
    listing = read_printed_listings(PRINTED)["/cache/a.main.so"]
    assert [line.split("\t")[-1] for line in listing.lines] == [
        "kernel._omp_fn.0:",
        "push   %rbp",
        "vaddps %zmm0,%zmm1,%zmm0",
        "call   1300 <helper(float)>",
        "helper(float):",
        "ret",
        "kernel.cold:",
        "ud2",
    ]
    vec = Place("/torch/vec.h", 40)
    own = [Place("/cache/a.main.cpp", line) for line in (8, 9, 10)]
    assert listing.chains[1:4] == [(own[0],), (vec, own[1]), (vec, own[2])]


def doubled(x: torch.Tensor) -> torch.Tensor:
    return (x * 2).exp()


@pytest.fixture(scope="module")
def report() -> Report:
    return wb.aot_compile(doubled, (torch.randn(64, 64),)).report


@since("2.13", "kernels have no line numbers")
def test_assembly_leads_back_to_lines_of_the_kernel(report: Report) -> None:
    (row,) = report.assembly
    assert (row.kernel, row.config, row.stage) == ("k0", "k0:host", "assembly")
    assembly = report.texts[row.text or ""].split("\n")
    source = report.texts[report.kernels[0].text or ""].split("\n")
    assert assembly[0].startswith("kernel")
    origins = {source[line - 1].strip() for _, _, line in row.lines}
    assert any("store" in line for line in origins), origins
    assert any("exp" in line for line in origins), origins
    assert any("cpu/vec" in file for *_, file, _ in row.inlined)


def test_a_saved_record_keeps_it(report: Report, tmp_path: Path) -> None:
    again = Report.load(report.save(tmp_path / "doubled.wbr") or tmp_path / "doubled.wbr")
    assert list(again.assembly) == list(report.assembly)
    assert again.frame("assembly").text.item() == report.frame("assembly").text.item()
    assert again.texts[report.kernels[0].text or ""] == report.texts[report.kernels[0].text or ""]
