from __future__ import annotations

import pytest

from workbench.analysis.gpu_model.roofline import canonical, compute_roofline, find_peak_rate
from workbench.errors import UsageError
from workbench.specs import DTYPES, Catalogue, Gpu

GPUS = Catalogue.built_in()


def test_a_pointwise_kernel_waits_for_memory() -> None:
    count = 1 << 26  # relu(x + 1) on 256 MiB: read once, written once
    found = compute_roofline(GPUS["a100"], moved_bytes=8 * count, flops=2 * count)
    assert found.bound == "memory"
    assert found.time_us == pytest.approx(8 * count / 2039e9 * 1e6)
    assert found.intensity == 0.25
    assert found.ridge == pytest.approx(19.5e12 / 2039e9)
    assert found.attainable_tflops == pytest.approx(0.25 * 2.039)
    assert found.estimate


def test_a_large_product_of_matrices_waits_for_tensor_cores() -> None:
    n = 8192
    found = compute_roofline(
        GPUS["h100"], moved_bytes=3 * n * n * 2, flops=2 * n**3, dtype="bf16", matrix=True
    )
    assert (found.bound, found.rate) == ("compute", "matrix.bf16")
    assert found.time_us == pytest.approx(2 * n**3 / 989.5e12 * 1e6)
    assert found.attainable_tflops == found.rate_tflops == 989.5


def test_the_bound_changes_at_the_ridge_point() -> None:
    gpu = GPUS["mi300x"]
    ridge = 1307.4e12 / 5300e9
    below, above = (
        compute_roofline(gpu, moved_bytes=1e9, flops=1e9 * ridge * part, dtype="fp16", matrix=True)
        for part in (0.99, 1.01)
    )
    assert (below.bound, above.bound) == ("memory", "compute")
    assert below.ridge == pytest.approx(ridge)


@pytest.mark.parametrize("gpu", GPUS, ids=lambda gpu: gpu.name)
@pytest.mark.parametrize("matrix", [False, True])
def test_every_dtype_has_a_rate_on_every_gpu(gpu: Gpu, matrix: bool) -> None:
    for dtype in DTYPES:
        rate, tflops = find_peak_rate(gpu, dtype, matrix=matrix)
        assert rate is not None
        assert tflops is not None
        assert tflops > 0


@pytest.mark.parametrize(
    ("gpu", "dtype", "matrix", "rate"),
    [
        ("a100", "fp8", True, "matrix.fp16"),  # no unit: converted
        ("h100", "fp4", True, "matrix.fp16"),
        ("v100", "bf16", True, "vector.fp32"),  # neither a unit nor a conversion
        ("v100", "int8", True, "vector.fp32"),
        ("v100", "fp32", True, "vector.fp32"),  # no matrix unit for it
        ("mi300x", "fp32", True, "matrix.fp32"),
        ("mi355x", "tf32", True, "matrix.fp32"),
        ("rtx5090", "fp4", True, "matrix.fp4"),
        ("h100", "fp64", True, "matrix.fp64"),
        ("h100", "bf16", False, "vector.fp32"),  # what generated kernels compute in
        ("h100", "fp64", False, "vector.fp64"),
    ],
)
def test_which_units_count(gpu: str, dtype: str, matrix: bool, rate: str) -> None:
    assert find_peak_rate(GPUS[gpu], dtype, matrix=matrix)[0] == rate


def test_torchs_names_are_understood() -> None:
    names = ["torch.float32", "bfloat16", "torch.float8_e4m3fn", "torch.int8", "tf32"]
    assert [canonical(name) for name in names] == ["fp32", "bf16", "fp8", "int8", "tf32"]
    with pytest.raises(UsageError, match="no peak rate for 'torch"):
        canonical("torch.bool")


def test_nothing_to_do_has_no_bound() -> None:
    found = compute_roofline(GPUS["t4"], moved_bytes=0, flops=0)
    assert (found.bound, found.time_us, found.intensity) == (None, 0.0, None)


def test_without_a_rate_only_the_memory_time_is_known() -> None:
    known = GPUS["h100"]
    unknown = Catalogue((known,)).adding("mine", {**limits(known), "bandwidth_gbs": 1000})["mine"]
    found = compute_roofline(unknown, moved_bytes=1e9, flops=1e12)
    assert (found.bound, found.time_us, found.compute_us) == (None, 1000.0, None)


def limits(gpu: Gpu) -> dict[str, object]:
    """Everything but the peak rates."""
    return {
        key: value
        for key, value in gpu.values().items()
        if "." not in key and value is not None and key != "name"
    }


def test_negative_numbers_are_refused() -> None:
    with pytest.raises(UsageError, match="negative"):
        compute_roofline(GPUS["h100"], moved_bytes=-1, flops=0)
