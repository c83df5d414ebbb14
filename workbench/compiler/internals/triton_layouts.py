"""Asks Triton's own compiler which thread holds which element: its private names for layouts.

Ask in a process that may end: Triton answers a question about a layout that it does not know by an
assertion. `KNOWN_SHARED` are the layouts of shared memory of which it counts conflicts.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

Bases = tuple[tuple[tuple[int, ...], ...], ...]
"""Of registers, lanes, warps and blocks: an element's place is the XOR of those of the set bits."""

KNOWN_SHARED = ("#ttg.swizzled_shared", "#ttg.nvmma_shared")
_SHAPE = re.compile(r"(?:tensor|!ttg\.memdesc)<((?:\d+x)*)")


@dataclass(frozen=True)
class Held:
    """A value of an operation: its type as Triton writes it, its shape, its place in the source.

    `value` is Triton's own.
    """

    value: Any
    type: str
    shape: tuple[int, ...]

    @property
    def is_tensor(self) -> bool:
        """Whether it is held in registers, in a layout."""
        return self.type.startswith("tensor<") and "#" in self.type

    @property
    def is_shared(self) -> bool:
        """Whether it is a piece of shared memory, or of that of tensors."""
        return self.type.startswith("!ttg.memdesc<")

    @property
    def place(self) -> str:
        """Where it stands in the source, as Triton writes it."""
        return str(self.value.get_loc())


@dataclass(frozen=True)
class Operation:
    """One operation of a kernel."""

    name: str
    operands: tuple[Held, ...]
    results: tuple[Held, ...]


class TritonModule:
    """TTGIR in a file, as Triton reads it; raises `RuntimeError` where it cannot."""

    def __init__(self, path: str):
        from triton._C import libtriton
        from triton._C.libtriton import gluon_ir, ir
        from triton.backends import backends

        self._context = ir.context()
        for dialects in (ir, *(getattr(libtriton, name) for name in backends)):
            dialects.load_dialects(self._context)
        self._module = ir.parse_mlir_module(path, self._context)
        self._builder = gluon_ir.GluonOpBuilder(self._context)

    @property
    def lanes(self) -> int:
        """How many lanes a warp has; 0 where it does not say."""
        return int(self._module.get_int_attr("ttg.threads-per-warp") or 0)

    def list_operations(self) -> Iterator[Operation]:
        """The operations in the order of the text, those around others behind them."""
        operations: list[Operation] = []

        def see(operation: Any) -> None:
            operands = map(operation.get_operand, range(operation.get_num_operands()))
            results = map(operation.get_result, range(operation.get_num_results()))
            operations.append(
                Operation(
                    operation.get_name(), tuple(map(_hold, operands)), tuple(map(_hold, results))
                )
            )
            if operation.get_name() == "tt.return":
                # `get_shared_bank_conflicts` of Triton 3.9 looks for the target around the place
                # where it would insert, and without one the process ends with a segmentation fault
                self._builder.set_insertion_point_to_start(operation.get_block())

        self._module.walk(see)
        yield from operations

    def read_layout(self, held: Held) -> Any:
        """The layout of a tensor, as Gluon writes it."""
        return self._builder.get_gluon_layout_from_tensor(held.value)

    def find_bases(self, held: Held) -> Bases:
        """Which register, lane, warp and block hold which element of a tensor."""
        layout = self.read_layout(held)
        linear = self._builder.to_linear_layout(layout._to_ir(self._builder), list(held.shape))
        parts = (linear.reg_bases, linear.lane_bases, linear.warp_bases, linear.block_bases)
        return tuple(tuple(tuple(base) for base in part) for part in parts)

    def count_conflicts(self, held: Held, shared: Held, bits: int) -> int:
        """How often more than once a wavefront of a tensor's elements waits for a bank.

        `shared` is the memory that it is read from or written to, in a layout of `KNOWN_SHARED`.
        """
        layouts = (
            self._builder.get_gluon_layout_from_tensor(held.value),
            self._builder.get_gluon_layout_from_memdesc(shared.value),
        )
        registers, memory = (layout._to_ir(self._builder) for layout in layouts)
        shape: Sequence[int] = list(held.shape)
        return int(self._builder.get_shared_bank_conflicts(registers, memory, shape, bits))


def _hold(value: Any) -> Held:
    type = str(value.get_type())
    match = _SHAPE.match(type)
    shape = tuple(int(size) for size in match[1].split("x")[:-1]) if match else ()
    return Held(value, type, shape)
