"""The two traces that notebook 16 reads: steps on a made-up H100, before and after three changes.

`python -m tests.worlds.profiles.reading.tutorial_steps` writes them beside the notebook.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from tests.worlds.profiles.reading.synthetic_trace import SyntheticTrace

FOLDER = Path(__file__).parents[4] / "notebooks"
STEPS, BLOCKS, ROWS, WIDTH, INNER = 3, 4, 4096, 1024, 4096
WORDS, PADDED = 5185, 5192
_OP_US, _LAUNCH_US, _RETURN_US, _STARTS_US = 9.0, 4.0, 6.0, 5.0
_VECTOR = "void at::native::vectorized_elementwise_kernel<8, at::native::{}>(int)"
_REDUCE = "void at::native::reduce_kernel<512, 1, at::native::ReduceOp<c10::BFloat16, MaxOps>>()"
_UP, _DOWN, _HEAD = (
    f"nvjet_sm90_tst_{tile}_2x1_v_bz_TNN"
    for tile in ("128x256_64x4", "192x192_64x4", "128x208_64x4")
)
_ODD = "void cutlass::Kernel2<cutlass_80_tensorop_bf16_s16816gemm_bf16_128x128_32x4_tn_align1>()"

Shape = tuple[int, ...]


class _Clocks:
    """A host that runs ahead of a device with one stream, until it waits. Times are in µs."""

    def __init__(self) -> None:
        self.trace = SyntheticTrace(with_stack=1, with_modules=1, profile_memory=0)
        self.host, self.device = 100.0, 0.0

    @contextmanager
    def inside(self, *frames: str) -> Iterator[None]:
        """Frames of Python around what is run; they are written when they end."""
        begin = self.host
        self.host += 1.0 * len(frames)
        yield
        self.host += 1.0
        for depth, frame in enumerate(frames):
            self.trace.python(frame, begin + depth, self.host - begin - depth - 0.1)

    def run(self, operator: str, kernel: str, us: float, *shapes: Shape, **args: object) -> None:
        """An operator and the kernel that it launches."""
        number = self.trace.operator(operator, self.host, _OP_US, shapes, **args)
        at = self.host + 4.0
        start = max(self.device, at + _STARTS_US)
        self.trace.launch(kernel, at, start, us, number, takes=_LAUNCH_US)
        self.device, self.host = start + us, self.host + _OP_US + 1.0

    def ask(self) -> None:
        """`.item()`: a copy of one number, for which the host waits."""
        begin, at = self.host, self.host + 3.0
        start = max(self.device, at + _STARTS_US)
        self.device = start + 1.5
        end = self.device + _RETURN_US
        number = self.trace.operator("aten::item", begin, end - begin, [()])
        copy = {"by": "cudaMemcpyAsync", "category": "gpu_memcpy", "bytes": 2}
        self.trace.launch(
            "Memcpy DtoH (Device -> Pageable)", at, start, 1.5, number, takes=3.0, **copy
        )
        self.trace.wait("cudaStreamSynchronize", at + 3.5, end - at - 4.0)
        self.host = end + 12.0  # what Python does with the number


def build_before() -> SyntheticTrace:
    """Eager: a head of 5,185 words, three elementwise kernels and an `.item()` in each block."""
    clocks = _Clocks()
    wide: Sequence[Shape] = [(ROWS, INNER)]
    narrow = (ROWS, WIDTH)
    for step in range(STEPS):
        with _step(clocks, step):
            for block in range(BLOCKS):
                with clocks.inside(f"nn.Module: Block_{block}", "model.py(18): forward"):
                    with clocks.inside(f"nn.Module: Linear_{2 * block}"):
                        clocks.run("aten::mm", _UP, 53.0, narrow, (WIDTH, INNER))
                    with clocks.inside("model.py(19): forward"):
                        _run_vector(clocks, "aten::mul", "MulFunctor<float>", 25.0, *wide, ())
                        _run_vector(clocks, "aten::add", "CUDAFunctor_add", 25.5, *wide, ())
                        _run_vector(clocks, "aten::gelu", "GeluCUDAKernelImpl", 26.0, *wide)
                    with clocks.inside(f"nn.Module: Linear_{2 * block + 1}"):
                        clocks.run("aten::mm", _DOWN, 49.0, *wide, (INNER, WIDTH))
                    with clocks.inside("model.py(21): forward"):
                        clocks.run("aten::max", _REDUCE, 8.0, narrow)
                        with clocks.inside("<built-in method item of Tensor object at 0x7f00>"):
                            clocks.ask()
            with clocks.inside(f"nn.Module: Linear_{2 * BLOCKS}"):
                clocks.run("aten::mm", _ODD, 168.0, narrow, (WIDTH, WORDS))
    return clocks.trace


def build_after() -> SyntheticTrace:
    """The same steps compiled, with a head of 5,192 and no `.item()`."""
    clocks = _Clocks()
    for step in range(STEPS):
        with _step(clocks, step):
            for _ in range(BLOCKS):
                clocks.run("aten::mm", _UP, 53.0, (ROWS, WIDTH), (WIDTH, INNER))
                fused = {
                    "kernel_backend": "triton",
                    "kernel_hash": "cgelu",
                    "kernel_file": "cgelu.py",
                }
                name = "triton_poi_fused_add_gelu_mul_0"
                clocks.run(name, name, 24.0, (ROWS, INNER), (ROWS, INNER), **fused)
                clocks.run("aten::mm", _DOWN, 49.0, (ROWS, INNER), (INNER, WIDTH))
            clocks.run("aten::mm", _HEAD, 64.0, (ROWS, WIDTH), (WIDTH, PADDED))
    return clocks.trace


@contextmanager
def _step(clocks: _Clocks, number: int) -> Iterator[None]:
    begin = clocks.host
    with clocks.inside("train.py(30): step", "nn.Module: Model_0", "model.py(40): forward"):
        yield
    clocks.trace.annotation(f"ProfilerStep#{number}", begin, clocks.host - begin)
    clocks.host += 5.0


def _run_vector(clocks: _Clocks, operator: str, functor: str, us: float, *shapes: Shape) -> None:
    clocks.run(operator, _VECTOR.format(functor), us, *shapes)


def main() -> None:
    """Write both."""
    build_before().write(FOLDER / "16_before.json.gz")
    build_after().write(FOLDER / "16_after.json.gz")


if __name__ == "__main__":
    main()
