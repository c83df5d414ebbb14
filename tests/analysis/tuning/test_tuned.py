"""What a kernel was tuned to: its sentence, its best, the files that it writes."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from tests.analysis.tuning.test_inductor_choices import SOURCE
from tests.analysis.tuning.test_tuned_formats import BEST, SMALL
from workbench.analysis.tuning.candidate import Candidate, rank_candidates
from workbench.analysis.tuning.tuned import Tuned, TunedCase, summarize_error
from workbench.analysis.tuning.tuned_formats import BESIDE
from workbench.errors import UsageError
from workbench.specs import Catalogue

GPUS = Catalogue.built_in()
LOST = Candidate((("BLOCK_M", 256),), 8, 4, "does not fit", "300 kB of 228 kB")


def make_case(rows: int, *candidates: Candidate, gpu: str = "h100") -> TunedCase:
    sizes = {"M": rows, "N": 7168, "K": 2048}
    return TunedCase(GPUS[gpu], sizes, tuple(rank_candidates(candidates)))


TUNED = Tuned(
    "mm",
    "product with scales",
    (
        make_case(1, replace(SMALL, model_us=9.0), replace(BEST, model_us=12.0), LOST),
        make_case(64, replace(BEST, model_us=14.0), replace(SMALL, model_us=21.0)),
    ),
)
NONE = Tuned("mm", "pointwise", (make_case(1, LOST, LOST),))


def test_the_sentence_says_that_it_was_modelled_and_how_far_that_was_off() -> None:
    assert TUNED.sentence.startswith(
        "mm on h100, M=1, N=7168, K=2048: BLOCK_M=16, BLOCK_N=64, BLOCK_K=64, 4 warps, 5 stages, "
        "9.00 µs modelled, best of 3 configurations. mm on h100, M=64"
    )
    assert TUNED.sentence.endswith(summarize_error(TUNED.kind, ["h100"]))
    assert "Checked on 198 published best configs" in TUNED.error


@pytest.mark.world("own_kernels")  # which shows it as text
def test_a_first_that_the_model_cannot_tell_from_others_says_so() -> None:
    near = [replace(SMALL, stages=n, model_us=9.0 + n / 100) for n in (1, 2, 40)]
    case = make_case(1, *near, LOST)
    assert case.doubt == "too close to call with 1 other"
    told = Tuned("mm", "pointwise", (case,)).sentence
    assert "9.01 µs modelled, best of 4 configurations, too close to call with 1 other." in told
    assert repr(Tuned("mm", "pointwise", (case,))).count("too close to call with 1") == 1
    unknown = make_case(1, replace(SMALL, model_us=None), replace(BEST, model_us=None))
    assert (make_case(1, LOST).doubt, unknown.doubt) == ("", "")
    assert "too close" not in TUNED.sentence


def test_the_best_of_a_case_is_found_by_its_size() -> None:
    assert [each.stages for each in TUNED.best(5, M=64)] == [3, 5]
    assert TUNED.why("BLOCK_M=256", 1, M=1).endswith("does not fit, 300 kB of 228 kB.")
    for wanted, words in (({}, "Select one"), ({"M": 2}, "No case matches")):
        with pytest.raises(UsageError, match=words):
            TUNED.best(1, **wanted)
    with pytest.raises(UsageError, match="Position 9 does not exist"):
        TUNED.why(1, 9, M=1)
    with pytest.raises(UsageError, match="2 configurations match '4 warps'"):
        TUNED.why("4 warps", 1, M=1)


def test_where_nothing_is_left_one_sentence_says_why() -> None:
    words = (
        "mm on h100, M=1, N=7168, K=2048: none of 2 configurations can be used (does not fit 2). "
        "Example: BLOCK_M=256, 8 warps, 4 stages, 300 kB of 228 kB."
    )
    assert words in NONE.sentence
    for ask in (NONE.best, lambda: NONE.write_vllm(Path("nowhere"))):
        with pytest.raises(UsageError) as error:
            ask()
        assert str(error.value) == words
    assert not Path("nowhere").exists()


def test_one_file_has_every_number_of_rows(tmp_path: Path) -> None:
    (file,) = TUNED.write_vllm(tmp_path, dtype="fp8_w8a8", block_shape=(128, 128))
    assert file.name.startswith("N=7168,K=2048,device_name=NVIDIA_H100_80GB_HBM3,dtype=fp8_w8a8")
    assert file.read_text().count("BLOCK_SIZE_M") == 2
    remark = file.with_name(file.name + BESIDE).read_text()
    assert "Modelled, not measured." in remark
    assert "published best configs" in remark
    (other,) = TUNED.write_sglang(tmp_path, dtype="fp8_w8a8", block_shape=(128, 128))
    assert "[128, 128]" in other.name


def test_experts_are_named_by_their_inner_width(tmp_path: Path) -> None:
    case = replace(TUNED.cases[0], sizes={"M": 1, "N": 1024, "K": 7168, "E": 256, "TOP": 8})
    files = replace(TUNED, cases=(case,)).write_vllm(tmp_path, dtype="fp8_w8a8", N=512)
    assert [file.name for file in files] == [
        "E=256,N=512,device_name=NVIDIA_H100_80GB_HBM3,dtype=fp8_w8a8.json"
    ]


def test_triton_and_helion_files_say_it_too(tmp_path: Path) -> None:
    text = TUNED.write_triton(tmp_path / "configs.py", 2, M=64).read_text()
    assert text.startswith("# Configurations of mm by aot-workbench")
    assert text.count("triton.Config(") == 2
    order = ["BLOCK_SIZE_M", "BLOCK_SIZE_N"]
    file = TUNED.write_helion(tmp_path / "helion.json", order=order, M=64)
    assert '"block_sizes": [' in file.read_text()
    assert "Modelled" in file.with_name("helion.json" + BESIDE).read_text()


def test_helion_itself_reads_its_file(tmp_path: Path) -> None:
    helion = pytest.importorskip("helion", reason="Helion is not installed")
    order = ["BLOCK_SIZE_M", "BLOCK_SIZE_N"]
    file = TUNED.write_helion(tmp_path / "helion.json", order=order, M=64)
    written = json.loads(file.read_text())
    read = helion.Config.load(file)
    assert read.block_sizes == written["block_sizes"]
    assert read.num_warps == written["num_warps"]


def test_an_order_without_a_model_claims_no_error_of_one(tmp_path: Path) -> None:
    made = Tuned("mm", "product", (make_case(1, BEST, SMALL),))
    assert "Neither measured nor modelled" in made.sentence
    assert "best configs" not in made.sentence
    with pytest.raises(UsageError, match="n is 0"):
        made.write_triton(tmp_path / "none.py", 0)
    assert made.write_triton(tmp_path / "new" / "configs.py").exists()


def test_a_kernel_of_which_inductor_reads_no_choice_is_told(tmp_path: Path) -> None:
    text = SOURCE % ", 'force_disable_caches': True"
    made = Tuned("k", "pointwise", (make_case(1, BEST),), generated={"h100": text})
    with pytest.raises(UsageError, match=r"Inductor would not read a config for k: .*coordinate_d"):
        made.write_inductor(tmp_path)
