"""The texts of the stages of a kernel, and two of them compared."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from wire_types import mismatches

from workbench.errors import UsageError
from workbench.report import Report, Table
from workbench.report.machine_rows import Assembly
from workbench.views.document import document
from workbench.views.pages.packed_report import embedded, list_part_names
from workbench.views.parts.report_parts import report_part
from workbench.views.wire.gpu_messages import ComparePart, StagePart
from workbench.views.wire.report_messages import Document

RECORD = Path(__file__).parents[2] / "records" / "norm_h100.wbr"


@pytest.fixture(scope="module")
def report() -> Report:
    return Report.load(RECORD)


def test_every_stage_of_every_configuration_is_a_part(report: Report) -> None:
    names = [name for name in list_part_names(report) if name.startswith("asm:")]
    assert names[:2] == ["asm:k1:c0:ptx", "asm:k1:c0:sass"]  # as they are looked at
    assert len(names) == len(report.assembly)
    for name in names:
        assert mismatches(report_part(report, name), StagePart) == []


def test_machine_code_leads_back_to_the_source(report: Report) -> None:
    sass = report_part(report, "asm:k1:c0:sass")
    code = report_part(report, "code:k1")["text"].split("\n")  # type: ignore[typeddict-item]
    lines = sass["text"].split("\n")  # type: ignore[typeddict-item]
    stores = [n for n, line in enumerate(lines, 1) if "STG" in line]
    for number in stores:
        (origin,) = (line for a, b, line in sass["lines"] if a <= number <= b)  # type: ignore[typeddict-item]
        assert "tl.store" in code[origin - 1]
        (ptx,) = (line for a, b, line in sass["ptx"] if a <= number <= b)  # type: ignore[typeddict-item]
        text = report_part(report, "asm:k1:c0:ptx")["text"]  # type: ignore[typeddict-item]
        assert "st.global" in text.split("\n")[ptx - 1]
    assert any(file.endswith("triton/language/standard.py") for *_, file, _ in sass["inlined"])  # type: ignore[typeddict-item]


def test_only_what_occurs_is_explained(report: Report) -> None:
    sass = report_part(report, "asm:k1:c0:sass")
    assert "STG.E" in str(sass["opcodes"].keys())  # type: ignore[typeddict-item]
    assert all(name in sass["text"] for name in sass["opcodes"])  # type: ignore[typeddict-item]


def test_two_gpus_are_compared_line_by_line(report: Report) -> None:
    part = report_part(report, "compare:k1:c0:k1:a100:sass:loose")
    assert mismatches(part, ComparePart) == []
    kinds = {kind for kind, *_ in part["blocks"]}  # type: ignore[typeddict-item]
    assert "same" in kinds
    assert kinds - {"same"}
    strict = report_part(report, "compare:k1:c0:k1:a100:sass")
    alike = [
        sum(b - a + 1 for kind, a, b, *_ in p["blocks"] if kind == "same")  # type: ignore[typeddict-item]
        for p in (part, strict)
    ]
    assert alike[0] > alike[1]


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("asm:k1:c7:ptx", "Unknown code 'k1:c7:ptx'"),
        ("asm:k1:mi300x:sass", "Unknown code"),
        ("compare:k1:c0:sass", "name two configurations and a stage"),
        ("compare:k1:c0:k1:c9:ptx", "Unknown code 'k1:c9:ptx'"),
    ],
)
def test_what_is_not_there_is_named(report: Report, name: str, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        report_part(report, name)


def test_a_stage_without_text_says_why(report: Report) -> None:
    row = Assembly("k1", "k1:v100", "sass", None, note="nvdisasm cannot read code for sm_70")
    tables = {**report.tables, "assembly": Table.of(Assembly, [row])}
    without = replace(report, tables=tables)
    with pytest.raises(UsageError, match="k1:v100 has no SASS: nvdisasm cannot read"):
        report_part(without, "asm:k1:v100:sass")
    (config,) = document(without)["kernels"][1]["configs"]
    assert config["stages"] == {"sass": row.note}


def test_configurations_say_what_they_take(report: Report) -> None:
    shown = document(report)
    assert mismatches(shown, Document) == []
    kernel = next(k for k in shown["kernels"] if k["id"] == "k1")
    own, a100, mi300x = kernel["configs"]
    assert (own["id"], own["target"], own["choice"]) == ("k1:c0", "h100", "XBLOCK=1, 2 warps")
    facts = dict(own["facts"])
    assert facts["Spills"] == "none"
    assert facts["Occupancy"].endswith("limited by warps (estimate)")
    assert (a100["id"], a100["target"]) == ("k1:a100", "a100")
    assert list(mi300x["stages"]) == ["ttir", "ttgir", "llir", "amdgcn"]
    assert shown["no_assembly"] is None


def test_a_compilation_for_the_cpu_says_why_it_has_none() -> None:
    block = Report.load(RECORD.with_name("block.wbr"))
    why = document(block)["no_assembly"]
    assert why is not None
    assert 'target="h100"' in why
    assert document(block)["kernels"][0]["configs"] == []


def test_what_does_not_fit_says_so(report: Report) -> None:
    small = embedded(report, document(report), "full", 30_000)
    assert "asm:k1:c0:ptx" in {**small["parts"], **small["left_out"]}
    assert all(name not in small["parts"] for name in small["left_out"])
    whole = embedded(report, document(report), "full", 300_000)
    assert whole["left_out"] == {}
    assert "compare:k1:c0:k1:a100:sass:loose" in whole["parts"]


def test_a_comparison_is_kept_only_beside_its_texts(report: Report) -> None:
    for limit in (40_000, 60_000, 80_000):
        parts = embedded(report, document(report), "full", limit)["parts"]
        for name in parts:
            if name.startswith("compare:"):
                _, a, b, c, d, stage, *_ = name.split(":")
                assert {f"asm:{a}:{b}:{stage}", f"asm:{c}:{d}:{stage}"} <= parts.keys()
