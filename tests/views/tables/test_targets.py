from __future__ import annotations

from workbench.specs import Catalogue
from workbench.views.tables.targets import target_frame, targets_frame

GPUS = Catalogue.built_in()


def test_a_row_for_each_gpu() -> None:
    frame = targets_frame(GPUS).set_index("name")
    assert list(frame.index) == [gpu.name for gpu in GPUS]
    h100 = frame.loc["h100"]
    assert (h100["sms"], h100["arch"], h100["shared_per_block_optin"]) == (132, "sm_90", 232448)
    assert h100["matrix_bf16_tflops"] == 989.5
    assert frame["l3_bytes"].dtype == "Int64"
    assert frame["l3_bytes"].notna().sum() == 2  # AMD's Infinity Cache
    assert "vector_fp8_tflops" not in frame  # no device has it


def test_the_numbers_of_one_gpu_with_their_sources() -> None:
    frame = target_frame(GPUS["mi300x"]).set_index("field")
    assert frame.loc["sms", "value"] == 304
    assert "AMD ROCm documentation" in frame.loc["sms", "source"]
    assert frame["source"].str.len().min() > 0


def test_an_empty_catalogue_is_an_empty_frame() -> None:
    assert targets_frame(Catalogue(())).empty
