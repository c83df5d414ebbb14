"""A small hand-made report with something in every table."""

from __future__ import annotations

import sample_file

from workbench.report import (
    AutotuneChoice,
    Break,
    Buffer,
    CacheEvent,
    Capability,
    Environment,
    FusionPair,
    Graph,
    Guard,
    Kernel,
    Link,
    Node,
    Phase,
    Recompile,
    Report,
    Request,
    SchedulerNode,
    Source,
    Table,
    TextWriter,
    Wrapper,
)
from workbench.report.machine_rows import KernelRoofline, MatrixCell, RankedConfig

SOURCE = """\
def block(x, w):
    # <b>not bold</b> & "quoted"
    rows, columns = x.shape
    h = torch.relu(x + 1) * 2
    if h.abs().max() > 1e4:
        h = h.clamp(-1e4, 1e4)
    s = h.topk(8).values

    return h @ w + s.sum()"""

GRAPH = """\
def forward(self, arg0_1: "f32[512, 1024]", arg1_1: "f32[1024, 1024]"):
    # File: block.py:13 in block, code: h = torch.relu(x + 1) * 2
    add: "f32[512, 1024]" = torch.ops.aten.add.Tensor(arg0_1, 1)
    relu: "f32[512, 1024]" = torch.ops.aten.relu.default(add)
    mul: "f32[512, 1024]" = torch.ops.aten.mul.Tensor(relu, 2)
    mm: "f32[512, 1024]" = torch.ops.aten.mm.default(mul, arg1_1)
    return (mm,)"""

CPP = """\
#include <torch/csrc/inductor/cpp_prefix.h>
extern "C" void kernel(const float* in_ptr0, float* out_ptr0)
{
    for (int64_t x0 = 0; x0 < 524288L; x0 += 16L)  // <vectorised>
    {
        auto tmp0 = at::vec::Vectorized<float>::loadu(in_ptr0 + x0, 16);
        auto tmp1 = at::vec::maximum(tmp0 + 1.0f, 0.0f) * 2.0f;
        tmp1.store(out_ptr0 + x0);
    }
}"""

FILE = "~/models/block.py"


def make() -> Report:
    """One inference compilation with a break, three kernels and a timed choice."""
    texts = TextWriter()
    source, graph, cpp = (texts.add(text) for text in (SOURCE, GRAPH, CPP))
    wrapper = texts.add("def call(args):\n    cpp_fused_add_mul_relu_0(buf0)\n    return (buf1,)")
    rows = {
        "sources": [Source("s0", "block", FILE, 10, source)],
        "graphs": [
            Graph("g0", "dynamo", "0/0", 6, graph),
            Graph("g1", "before_post_grad", "0/0", 6, graph),
            Graph("g2", "after_post_grad", "0/0", 5, texts.add(GRAPH.replace("mul", "mul_2"))),
        ],
        "nodes": _nodes(),
        "breaks": _breaks(),
        "guards": _guards(),
        "recompiles": [Recompile("0/1", "block", "tensor 'x' size mismatch at index 0")],
        "fusion": _fusion(),
        "scheduler_nodes": _scheduler_nodes(),
        "kernels": _kernels(cpp),
        "buffers": [Buffer("i0:buf0", "i0", "buf0", "intermediate", (512, 1024), "float32")],
        "wrappers": [Wrapper("w0", "g2", False, wrapper)],
        "autotune": [
            AutotuneChoice("a0", "mm(512x1024, 1024x1024)", "extern_mm", "library", 0.21, True),
            AutotuneChoice("a1", "mm(512x1024, 1024x1024)", "cpp_gemm_0", "template", 0.33, False),
            AutotuneChoice("a2", "mm(512x1024, 1024x1024)", "cpp_gemm_1", "template", None, False),
        ],
        "roofline": _roofline(),
        "matrix": _matrix(),
        "ranked_configs": _ranked(),
        **sample_file.rows(),
        "phases": _phases(),
        "cache": [
            CacheEvent("fx_graph_cache", "bypass", None, "recording runs every step"),
            CacheEvent("kernel_cache", "hit", "abc"),
        ],
        "capabilities": [
            Capability("graphs", True),
            Capability("fusion", True),
            Capability("recompiles", False, "this release of torch does not report them"),
        ],
        "links": [Link("g0:add", "k0", "node-kernel"), Link("L:s0:13", "g0:add", "line-node")],
    }
    return Report(
        environment=Environment(
            "0.1.0", "3.11.7", "2.13.0", None, "Linux x86_64", "a CPU", "avx512", 2, 2
        ),
        request=Request(
            name="block",
            mode="max-autotune",
            inputs=("x: float32 [512, 1024]", "w: float32 [1024, 1024]"),
            options=(("epilogue_fusion", "False"),),
            notes=("block was wrapped by torch.compile; the function inside was compiled.",),
        ),
        tables={name: Table.of(type(items[0]), items) for name, items in rows.items()},
        texts=texts.finish(),
    )


def _roofline() -> list[KernelRoofline]:
    h100 = {"target": "h100", "bandwidth_gbs": 3352.0}
    plain = {**h100, "rate": "vector.fp32", "rate_tflops": 66.9, "ridge": 19.96}
    return [
        KernelRoofline(
            "k0",
            moved_bytes=4194304,
            flops=1572864,
            intensity=0.375,
            bound="memory",
            bound_us=1.25,
            attainable_tflops=1.26,
            **plain,
        ),
        KernelRoofline(
            "k1",
            moved_bytes=2113536,
            flops=524288,
            intensity=0.248,
            bound="memory",
            bound_us=0.63,
            attainable_tflops=0.83,
            measured_us=1.1,
            **plain,
        ),
        KernelRoofline(
            "k2",
            moved_bytes=8388608,
            flops=1073741824,
            intensity=128.0,
            bound="compute",
            bound_us=2.17,
            attainable_tflops=494.7,
            **{**h100, "rate": "matrix.tf32", "rate_tflops": 494.7, "ridge": 147.6},
        ),
    ]


def _matrix() -> list[MatrixCell]:
    made = {  # registers, spills, shared memory, occupancy, instructions, bound in µs
        "k0": {
            "t4": (24, 0, 0, 1.0, 96, 13.1),
            "a100": (22, 0, 0, 1.0, 88, 2.7),
            "h100": (22, 0, 0, 1.0, 84, 1.25),
        },
        "k1": {
            "t4": (255, 48, 4096, 0.25, 1210, 6.6),
            "a100": (128, 0, 4096, 0.5, 930, 1.36),
            "h100": (96, 0, 8192, 0.625, 870, 0.63),
        },
    }
    names = ("registers", "spills", "smem_bytes", "occupancy", "instructions", "bound_us")
    cells = [
        MatrixCell(
            kernel,
            target,
            f"{kernel}:{target}",
            "XBLOCK=128",
            4,
            1,
            limiter="registers",
            bound="memory",
            **dict(zip(names, values, strict=True)),
        )
        for kernel, row in made.items()
        for target, values in row.items()
    ]
    why = "This kernel takes bf16, which a T4 cannot compute with."
    return [*cells, MatrixCell("k2", "t4", "k2:t4", note=why)]


def _ranked() -> list[RankedConfig]:
    made = [
        (128, 4, 28, 0, 1.0, 1.3, 1, None),
        (256, 4, 40, 0, 0.75, 1.5, 2, None),
        (128, 8, 28, 0, 1.0, 1.6, 3, None),
        (256, 8, 255, 12, 0.25, 4.2, 4, "spills 12 registers"),
    ]
    return [
        RankedConfig(
            "k0",
            "h100",
            f"XBLOCK={size}",
            warps,
            1,
            registers,
            spills,
            0,
            8,
            occupancy,
            "registers",
            time,
            rank,
            losing,
        )
        for size, warps, registers, spills, occupancy, time, rank, losing in made
    ]


def _nodes() -> list[Node]:
    big = {"shape": (512, 1024), "dtype": "float32", "device": "cpu", "bytes": 2097152}
    return [
        Node("g0:x", "g0", "x", "placeholder", "x", **big),
        Node("g0:add", "g0", "add", "call_function", "aten.add", file=FILE, line=13, **big),
        Node("g0:relu", "g0", "relu", "call_function", "aten.relu", file=FILE, line=13, **big),
        Node("g0:mul", "g0", "mul", "call_function", "aten.mul", file=FILE, line=13, **big),
        Node(
            "g0:topk", "g0", "topk", "call_function", "aten.topk", file=FILE, line=16, bytes=16384
        ),
        Node("g0:mm", "g0", "mm", "call_function", "aten.mm", file=FILE, line=18, **big),
    ]


def _breaks() -> list[Break]:
    return [
        Break(
            "b0",
            FILE,
            14,
            "block",
            "if h.abs().max() > 1e4:",
            "Data-dependent branching",
            "GB0170",
            "attempted to jump with TensorVariable()",
            "Detected data-dependent branching (e.g. if my_tensor.sum() > 0:).",
            ("Use `torch.cond` to express dynamic control flow.", "Clamp always."),
            2,
        )
    ]


def _guards() -> list[Guard]:
    return [
        Guard("q0", True, "TENSOR_MATCH", "L['x']", ("check_tensor(L['x'], float32)",)),
        Guard("q1", True, "EQUALS_MATCH", "L['self'].heads", ("L['self'].heads == 16",)),
        Guard("q2", False, "ID_MATCH", "G['torch']", (), "differs in every process", True),
        Guard("q3", False, "ID_MATCH", "G['F']", (), "differs in every process", True),
    ]


def _fusion() -> list[FusionPair]:
    return [
        FusionPair("i0", 1, "op0", "op1", "fused", "", 2097152, "vertical", "op0_op1"),
        FusionPair("i0", 1, "op0_op1", "op2", "rejected", "no shared data", 0, "horizontal"),
        FusionPair("i0", 2, "op0_op1", "op2", "rejected", "no shared data", 0, "horizontal"),
        FusionPair("i0", 1, "op2", "op3", "rejected", "intermediate nodes between", 16384),
    ]


def _scheduler_nodes() -> list[SchedulerNode]:
    big = 2097152
    return [
        SchedulerNode("i0:op0", "i0", "op0", "before", "pointwise", (), (), big, big),
        SchedulerNode("i0:op1", "i0", "op1", "before", "pointwise", (), (), big, big),
        SchedulerNode("i0:op2", "i0", "op2", "before", "extern", (), (), big, 16384),
        SchedulerNode(
            "i0:op0_op1", "i0", "op0_op1", "after", "fused", ("op0", "op1"), (), big, big
        ),
        SchedulerNode("i0:op2", "i0", "op2", "after", "extern", ("op2",), (), big, 16384),
    ]


def _kernels(cpp: str) -> list[Kernel]:
    big = 2097152
    return [
        Kernel(
            "k0",
            "cpp_fused_add_mul_relu_0",
            "cpp",
            "g2",
            ops=("aten.add", "aten.relu", "aten.mul"),
            nodes=("g0:add", "g0:relu", "g0:mul"),
            lines=("L:s0:13",),
            scheduler_nodes=("op0_op1",),
            bytes_read=big,
            bytes_written=big,
            flops=1572864,
            text=cpp,
            time_us=182.4,
        ),
        Kernel(
            "k1",
            "aten.topk",
            "extern",
            "g2",
            ops=("aten.topk",),
            nodes=("g0:topk",),
            lines=("L:s0:16",),
            scheduler_nodes=("op2",),
            bytes_read=big,
            bytes_written=16384,
        ),
        Kernel(
            "k2",
            "extern_kernels.mm",
            "extern",
            "g2",
            ops=("aten.mm",),
            nodes=("g0:mm",),
            lines=("L:s0:18",),
            bytes_read=2 * big,
            bytes_written=big,
            flops=1073741824,
        ),
    ]


def _phases() -> list[Phase]:
    return [
        Phase("p0", "compile", 0.0, 4.42, 0.10, 0, "main"),
        Phase("p1", "Dynamo", 0.05, 0.40, 0.40, 1, "main"),
        Phase("p2", "Inductor", 0.50, 3.90, 0.62, 1, "main"),
        Phase("p3", "scheduler", 0.70, 0.28, 0.28, 2, "main"),
        Phase("p4", "C++ build", 1.20, 3.00, 3.00, 2, "main"),
    ]
