"""The custom operators of a program: what has to be registered wherever its package is loaded."""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch.export import ExportedProgram

# fmt: off
_OF_TORCH = frozenset((  # registered by `import torch`
    "_c10d_functional", "_c10d_functional_autograd", "_dtensor", "_quantized", "_test", "aten",
    "c10d", "c10d_functional", "cuda", "debugprims", "export", "fsdp", "higher_order", "inductor",
    "inductor_prims", "mkl", "mkldnn", "mkldnn_prepacked", "mkldnn_reorder", "onednn", "prepacked",
    "prim", "prims", "profiler", "quantized", "quantized_decomposed", "rngprims", "sparse",
    "static_runtime", "symm_mem", "xnnpack",
))
# fmt: on


def find_custom_operators(program: ExportedProgram) -> tuple[str, ...]:
    """Names such as `mine::scale.default` of the operators that torch itself does not register."""
    return tuple(sorted(set(_names(program.graph_module))))


def _names(module: torch.nn.Module) -> Iterator[str]:
    for part in module.modules():  # branches of a condition are graphs of their own
        if isinstance(part, torch.fx.GraphModule):
            for node in part.graph.nodes:
                namespace = getattr(node.target, "namespace", None)
                if namespace is not None and namespace not in _OF_TORCH:
                    yield f"{namespace}::{str(node.target).partition('.')[2]}"
