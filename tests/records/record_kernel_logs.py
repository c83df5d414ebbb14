"""Records `tests/records/kernel_logs/*`: logs as tritonparse writes them.

    python -m tests.records.record_kernel_logs

The compilations are Triton's own, for a T4 and an MI300X that are not there; the launches are made
up, since nothing can be launched. Paths of the machine are replaced.
"""

from __future__ import annotations

import gzip
import inspect
import json
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

from tests.records import recorded_kernels

LOGS = Path(__file__).parent / "kernel_logs"
FILE = "/home/somebody/project/recorded_kernels.py"
T4, MI300X = GPUTarget("cuda", 75, 32), GPUTarget("hip", "gfx942", 64)
ADD = {"a_ptr": "*fp32", "b_ptr": "*fp32", "c_ptr": "*fp32", "n": "i32", "BLOCK": "constexpr"}
PRODUCT = {"a_ptr": "*fp16", "b_ptr": "*fp16", "c_ptr": "*fp32", "K": "i32", "SIZE": "constexpr"}
_TEXTS = ("ttir", "ttgir", "llir", "ptx", "amdgcn")
_METADATA = ("hash", "name", "num_warps", "num_stages", "num_ctas", "shared", "backend_name")
_TIMING = ("/usr/lib/python3/triton/testing.py", 149, "do_bench", "fn()")
_RUN = ("/usr/lib/python3/triton/runtime/jit.py", 393, "<lambda>", "return self.run(*args)")
_MAIN = ("/home/somebody/project/main.py", 31, "<module>", "add(a, b)")
_CALL = ("/home/somebody/project/main.py", 12, "add", "add_kernel[grid](a, b, c, n, BLOCK=256)")


def main() -> None:
    add = [compilation("add_kernel", ADD, {"BLOCK": size}, T4, 4) for size in (256, 1024)]
    product = compilation("product_kernel", PRODUCT, {"SIZE": 16}, T4, 1, with_sass=True)
    timed = [launch(add[1], 4_000, is_timing=True)] * 9
    launched = [launch(add[0], 4_000), launch(add[0], 4_000), launch(add[0], 500)]
    write("t4", [add[0], launched[0], add[1], *timed, *launched[1:], product, tuned()])
    write("mi300x", [compilation("add_kernel", ADD, {"BLOCK": 256}, MI300X, 4)])


def compilation(
    name: str,
    signature: Mapping[str, str],
    constants: Mapping[str, int],
    target: GPUTarget,
    warps: int,
    *,
    with_sass: bool = False,
) -> dict[str, Any]:
    """A compilation as tritonparse tells it, made here."""
    function = getattr(recorded_kernels, name)
    source = ASTSource(function, dict(signature), dict(constants))
    kernel = triton.compile(source, target=target, options={"num_warps": warps})
    metadata = {key: value for key in _METADATA if (value := getattr(kernel.metadata, key, None))}
    texts = {f"{name}.{stage}": kernel.asm[stage] for stage in _TEXTS if stage in kernel.asm}
    if with_sass:
        texts[f"{name}.sass"] = disassembled(kernel.asm["cubin"])
    lines, first = inspect.getsourcelines(function.fn)
    told = {
        **metadata,
        "hash": kernel.hash,
        "target": {"backend": target.backend, "arch": target.arch, "warp_size": target.warp_size},
        "triton_version": triton.__version__,
        "src_constants": {
            str((list(signature).index(key),)): value for key, value in constants.items()
        },
    }
    payload = {
        "metadata": told,
        "file_content": {key: redacted(text) for key, text in texts.items()},
        "python_source": {
            "file_path": FILE,
            "start_line": first,
            "end_line": first + len(lines) - 1,
            "code": "".join(lines),
        },
    }
    return {"event_type": "compilation", "pid": 7, "stack": stack(), "payload": payload}


def disassembled(cubin: bytes) -> str:
    """The code of a cubin as tritonparse has it printed."""
    file = LOGS / "kernel.cubin"
    file.write_bytes(cubin)
    command = [triton.knobs.nvidia.nvdisasm.path, "-c", "-gp", "-g", "-gi", str(file)]
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    file.unlink()
    begin = next(n for n, line in enumerate(printed.split("\n")) if line.startswith(".text."))
    return "\n".join(printed.split("\n")[begin + 1 :])


def launch(made: Mapping[str, Any], n: int, *, is_timing: bool = False) -> dict[str, Any]:
    """A launch of a compilation of `add_kernel` over so many elements."""
    metadata = made["payload"]["metadata"]
    block = next(iter(metadata["src_constants"].values()))
    tensor = {
        "type": "tensor",
        "shape": [n],
        "dtype": "torch.float32",
        "device": "cuda:0",
        "stride": [1],
        "is_contiguous": True,
        "data_ptr": hex(1 << 32),
    }
    arguments = {name: tensor for name in ("a_ptr", "b_ptr", "c_ptr")}
    return {
        "event_type": "launch",
        "pid": 7,
        "name": metadata["name"],
        "stream": 0,
        "grid": [-(-n // block)],
        "compilation_metadata": metadata,
        "extracted_args": {**arguments, "n": {"type": "int", "value": n}},
        "stack": stack(is_timing=is_timing),
    }


def stack(*, is_timing: bool = False) -> list[dict[str, Any]]:
    """The frames of a launch, outermost first."""
    frames: Iterator[tuple[str, int, str, str]] = iter(
        (_MAIN, _CALL, *([_TIMING] if is_timing else []), _RUN)
    )
    return [
        {"filename": file, "line": line, "name": name, "loc": text}
        for file, line, name, text in frames
    ]


def tuned() -> dict[str, Any]:
    """What the autotuner would tell; its times are made up."""
    return {
        "event_type": "autotune",
        "kernel_name": "add_kernel",
        "autotune_key": "(4000,)",
        "best_config": "BLOCK: 256, num_warps: 4",
        "configs_timings": {
            "BLOCK: 256, num_warps: 4": [0.011, 0.011, 0.012],
            "BLOCK: 1024, num_warps: 4": [0.012, 0.012, 0.013],
            "BLOCK: 65536, num_warps: 4": ["inf", "inf", "inf"],
        },
    }


def redacted(text: str) -> str:
    """A text of the compilers without this machine's folders."""
    file = Path(recorded_kernels.__file__)
    text = text.replace(str(file), FILE)
    return text.replace(str(file.parent), str(Path(FILE).parent)).replace(
        str(Path(triton.__file__).parent), "/usr/lib/python3/triton"
    )


def write(name: str, events: list[dict[str, Any]]) -> None:
    """Write one log."""
    lines = "".join(f"{json.dumps(event)}\n" for event in events)
    assert str(Path(__file__).parents[2]) not in lines
    packed = gzip.compress(lines.encode(), 9, mtime=0)
    (LOGS / f"{name}.ndjson.gz").write_bytes(packed)
    print(f"{name}: {len(lines):,} bytes, {len(packed):,} packed")


if __name__ == "__main__":
    main()
