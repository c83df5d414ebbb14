"""A trace as torch.profiler writes it of a GPU, made without one: for tests, tutorials, benches."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

H100 = {
    "id": 0,
    "name": "NVIDIA H100 80GB HBM3",
    "totalGlobalMem": 85018279936,
    "computeMajor": 9,
    "computeMinor": 0,
    "numSms": 132,
    "warpSize": 32,
}
PROCESS, THREAD, ENGINE = 100, 100, 101
"""The process, its main thread, and that in which autograd runs a backward."""


class SyntheticTrace:
    """Events of one process; each method adds what torch.profiler would record. Times are in µs."""

    def __init__(self, device: Mapping[str, Any] | None = None, **head: Any):
        own = H100 if device is None else device
        self.head = {
            "schemaVersion": 1,
            "deviceProperties": [dict(own)],
            "record_shapes": 1,
            **head,
        }
        self.events: list[dict[str, Any]] = []
        self._ids = 0

    def add(self, category: str, name: str, start: float, duration: float, **more: Any) -> None:
        """An event with a start and a duration."""
        event = {
            "ph": "X",
            "cat": category,
            "name": name,
            "pid": PROCESS,
            "tid": THREAD,
            "ts": start,
            "dur": duration,
        }
        self.events.append(event | more)

    def python(self, name: str, start: float, duration: float, **more: Any) -> None:
        """A frame of Python: `model.py(12): forward`."""
        self.add("python_function", name, start, duration, **more)

    def module(self, name: str, start: float, duration: float, **more: Any) -> None:
        """A call of a module: `Linear_0`."""
        self.python(f"nn.Module: {name}", start, duration, **more)

    def annotation(self, name: str, start: float, duration: float, **more: Any) -> None:
        """What `record_function` and the profiler's steps leave."""
        said = {"External id": self.new_id()}
        self.add("user_annotation", name, start, duration, args=said, **more)

    def operator(
        self,
        name: str,
        start: float,
        duration: float,
        shapes: Sequence[Sequence[int]] = (),
        tid: int = THREAD,
        **args: Any,
    ) -> int:
        """An operator; its external id is returned, which its kernels bear."""
        said: dict[str, Any] = {"External id": self.new_id()}
        if shapes:
            said["Input Dims"] = [list(shape) for shape in shapes]
            said["Input type"] = ["c10::BFloat16"] * len(shapes)
        self.add("cpu_op", name, start, duration, tid=tid, args=said | args)
        return int(said["External id"])

    def launch(
        self,
        kernel: str,
        at: float,
        start: float,
        duration: float,
        external: int = 0,
        *,
        by: str = "cudaLaunchKernel",
        takes: float = 4.0,
        stream: int = 7,
        tid: int = THREAD,
        category: str = "kernel",
        **args: Any,
    ) -> None:
        """A kernel that begins at `start`, launched at `at` by a call of the driver."""
        number = self.new_id()
        known = {"External id": external} if external else {}
        self.add("cuda_runtime", by, at, takes, tid=tid, args={**known, "correlation": number})
        own = {**known, **args}
        self.run(kernel, start, duration, number, stream=stream, category=category, **own)

    def replay(self, at: float, kernels: Iterable[tuple[str, float, float]]) -> None:
        """A replay of a CUDA graph: one launch for all its kernels."""
        number = self.new_id()
        self.add("cuda_runtime", "cudaGraphLaunch", at, 9.0, args={"correlation": number})
        for name, start, duration in kernels:
            self.run(name, start, duration, number)

    def run(
        self,
        name: str,
        start: float,
        duration: float,
        correlation: int,
        *,
        stream: int = 7,
        category: str = "kernel",
        **args: Any,
    ) -> None:
        """Work of the device of a launch."""
        said = {"device": 0, "stream": stream, "correlation": correlation, **args}
        if category == "kernel":
            said = {"grid": [132, 1, 1], "block": [128, 1, 1], "registers per thread": 64} | said
        self.add(category, name, start, duration, pid=0, tid=stream, args=said)

    def wait(self, name: str, start: float, duration: float, tid: int = THREAD) -> None:
        """A call of the driver that starts nothing, such as a synchronisation."""
        said = {"correlation": self.new_id()}
        self.add("cuda_runtime", name, start, duration, tid=tid, args=said)

    def memory(self, at: float, size: int, allocated: int, reserved: int) -> None:
        """An allocation on the GPU, in bytes."""
        said = {
            "Bytes": size,
            "Total Allocated": allocated,
            "Total Reserved": reserved,
            "Device Id": 0,
            "Device Type": 1,
        }
        event = {"ph": "i", "cat": "cpu_instant_event", "name": "[memory]", "ts": at, "args": said}
        self.events.append({**event, "pid": PROCESS, "tid": THREAD})

    def new_id(self) -> int:
        """A number that no other event has."""
        self._ids += 1
        return self._ids

    def to_json(self) -> dict[str, Any]:
        """The whole trace as its file has it."""
        return {**self.head, "traceEvents": self.events, "displayTimeUnit": "ms"}

    def write(self, path: Path) -> Path:
        """Write it, compressed where the name ends in .gz; the path is returned."""
        text = json.dumps(self.to_json(), indent=1).encode()
        path.write_bytes(gzip.compress(text) if path.name.endswith(".gz") else text)
        return path


def build_step(layers: int = 2, *, backward: bool = False) -> SyntheticTrace:
    """A step of a small model: of each layer a product and an elementwise kernel.

    After each layer the program asks for a number, so that it waits for the device.
    """
    made = SyntheticTrace()
    end = 100.0 + layers * 200
    made.annotation("ProfilerStep#3", 0.0, end + 100)
    made.python("train.py(10): <module>", -10.0, end + 150)
    made.python("train.py(20): step", 0.0, end + 100)
    made.module("Model_0", 40.0, layers * 200.0)
    made.python("model.py(5): forward", 41.0, layers * 200.0 - 2)
    for layer in range(layers):
        add_layer(made, layer, 50.0 + layer * 200, backward)
    return made


def add_layer(made: SyntheticTrace, layer: int, at: float, backward: bool) -> None:
    """The events of one layer that begins at this time, and of its backward 1,000 µs later."""
    ids = {"Sequence number": layer + 1, "Fwd thread id": 0} if backward else {}
    made.module(f"Block_{layer}", at, 150.0)
    made.python("model.py(30): forward", at + 1, 148.0)
    made.module(f"Linear_{layer}", at + 2, 60.0)
    product = made.operator("aten::mm", at + 5, 50.0, [(4096, 1024), (1024, 4096)], **ids)
    made.launch("sm90_gemm_bf16_tilesize128x128x64", at + 10, at + 20, 60.0, product)
    gelu = made.operator("aten::gelu", at + 70, 20.0, [(4096, 4096)])
    made.launch("vectorized_elementwise_kernel", at + 75, at + 80, 30.0, gelu)
    made.python("<built-in method item of Tensor object at 0x7f00>", at + 100, 30.0)
    item = made.operator("aten::_local_scalar_dense", at + 100, 28.0)
    copy: dict[str, Any] = {"by": "cudaMemcpyAsync", "category": "gpu_memcpy", "bytes": 4}
    made.launch("Memcpy DtoH (Device -> Pinned)", at + 102, at + 112, 2.0, item, **copy)
    made.wait("cudaStreamSynchronize", at + 108, 8.0)
    if backward:
        back = at + 1000
        ids = {"Sequence number": layer + 1, "Fwd thread id": 1}
        made.operator(
            "autograd::engine::evaluate_function: MmBackward0", back, 40.0, tid=ENGINE, **ids
        )
        product = made.operator(
            "aten::mm", back + 5, 30.0, [(4096, 4096), (4096, 1024)], tid=ENGINE
        )
        made.launch(
            "sm90_gemm_bf16_tilesize128x256x64", back + 10, back + 20, 80.0, product, tid=ENGINE
        )
