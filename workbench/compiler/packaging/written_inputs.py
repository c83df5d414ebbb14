"""Which inputs an exported program writes into, and what they may share."""

from __future__ import annotations

from typing import Any

import torch
from torch.multiprocessing.reductions import StorageWeakRef

from workbench.compiler.contract.contract import describe
from workbench.compiler.contract.shared_memory import SharedMemory
from workbench.compiler.internals import torch_private as tp
from workbench.compiler.packaging.inputs import CallInputs
from workbench.errors import CaptureError


def memory_of(program: Any, inputs: CallInputs) -> SharedMemory | None:
    """What the inputs may share where some are written to: nothing; None where none is.

    Raises `CaptureError` for example inputs that share memory: no library is compiled for that.
    """
    if not _writes(program):
        return None
    given = [(path, value) for path, value in inputs.leaves if isinstance(value, torch.Tensor)]
    leaves = [describe(path, value) for path, value in given]
    memory = SharedMemory.of(leaves, [value for _, value in given])
    if memory.shared:
        first, second = (memory.names[place] for place in memory.shared[0].pair)
        raise CaptureError(
            f"{first} and {second} share memory, and the code writes into its inputs: AOTInductor "
            "compiles no library for that. Pass example inputs that are apart (.clone()), or "
            "compile with wb.aot_compile, which takes them."
        )
    return memory


def list_input_values(program: Any) -> list[Any]:
    """What torch.export made of each leaf of the inputs, in their order."""
    nodes = [node for node in program.graph.nodes if node.op == "placeholder"]
    specs = program.graph_signature.input_specs
    kind = tp.INPUT_KIND.get().USER_INPUT
    pairs = zip(nodes, specs, strict=True)
    return [node.meta.get("val") for node, spec in pairs if spec.kind == kind]


def _writes(program: Any) -> bool:
    """Whether an operator of the captured graph writes into the memory of an input."""
    if program.graph_signature.user_inputs_to_mutate:  # a program with functional operators alone
        return True
    inputs = {_storage(value) for value in list_input_values(program)} - {None}
    for node in program.graph.nodes:
        schema = getattr(node.target, "_schema", None)
        if schema is None:
            continue
        given = {one.name: v for one, v in zip(schema.arguments, node.args, strict=False)}
        given |= node.kwargs
        for argument in schema.arguments:
            if argument.alias_info is None or not argument.alias_info.is_write:
                continue
            value = given.get(argument.name)
            parts = value if isinstance(value, list | tuple) else (value,)
            if inputs & {_storage(getattr(part, "meta", {}).get("val")) for part in parts}:
                return True
    return False


def _storage(value: Any) -> int | None:
    if not isinstance(value, torch.Tensor):
        return None
    reference = StorageWeakRef(value.untyped_storage())  # type: ignore[no-untyped-call]
    number: int = reference.cdata
    return number
