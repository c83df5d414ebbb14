"""The nodes that say little about a graph: views, casts, constants and weights."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from workbench.report import Report
from workbench.report.graph_stages import is_weight_name, place_of

# fmt: off
_VIEWS = frozenset((
    "view", "reshape", "_unsafe_view", "permute", "transpose", "t", "numpy_T", "mT", "T",
    "swapaxes", "movedim", "expand", "expand_as", "broadcast_to", "unsqueeze", "squeeze", "slice",
    "select", "unbind", "split", "split_with_sizes", "chunk", "narrow", "as_strided", "alias",
    "detach", "flatten", "unflatten", "contiguous", "getitem", "unfold", "diagonal", "view_as",
))
_CASTS = frozenset((
    "convert_element_type", "_to_copy", "to", "type", "type_as", "float", "half", "bfloat16",
    "double", "int", "long", "bool",
))
_CONSTANTS = frozenset((
    "scalar_tensor", "sym_size", "sym_numel", "sym_stride", "device_put", "lift_fresh",
))
# fmt: on
_QUIET = _VIEWS | _CASTS | _CONSTANTS
_NAMESPACES = ("aten", "prims", "inductor", "_c10d_functional")


@dataclass(frozen=True)
class Rows:
    """The columns of one graph's nodes, in its order."""

    ids: Sequence[str]
    names: Sequence[str]
    ops: Sequence[str]
    targets: Sequence[str]
    shapes: Sequence[Sequence[int | str] | None]


def strip_op_name(target: str) -> str:
    """An operation without its namespace and overload: `aten.add.Tensor` is `add`."""
    parts = target.split(".")
    if len(parts) > 1 and parts[0] in _NAMESPACES:
        return parts[1]
    return parts[-1]


def name_inputs(rows: Rows, captured: Rows | None) -> dict[int, str]:
    """What the inputs of a graph are called in the captured one, by index.

    Later stages number them; the number is the place in the captured graph. One whose shape does
    not agree is left out.
    """
    places = [] if captured is None else _placeholders(captured)
    by_node: dict[int, str] = {}
    for node in _placeholders(rows):
        place = place_of(rows.names[node])
        if captured is not None and place is not None and 0 <= place < len(places):
            origin = places[place]
            if captured.shapes[origin] == rows.shapes[node]:
                by_node[node] = captured.targets[origin]
    return by_node


def _placeholders(rows: Rows) -> list[int]:
    return [node for node, op in enumerate(rows.ops) if op == "placeholder"]


def find_quiet_nodes(rows: Rows, inputs: Mapping[int, str], kernel: Sequence[int]) -> list[bool]:
    """Which nodes to hide at first; `kernel` is -1 for a node in none.

    A kernel that consists of such nodes keeps its last one, so that it can be seen.
    """
    base = {target: strip_op_name(target) for target in set(rows.targets)}
    quiet: list[bool] = []
    for node, op in enumerate(rows.ops):
        target = rows.targets[node]
        if op == "placeholder":
            quiet.append(is_weight_name(inputs.get(node, target)))
        elif op == "output":
            quiet.append(False)
        else:
            is_scalar = rows.shapes[node] == () and base[target] in ("full", "full_like")
            quiet.append(op == "get_attr" or base[target] in _QUIET or is_scalar)
    loud = {owner for owner, is_quiet in zip(kernel, quiet, strict=True) if not is_quiet}
    for node in range(len(quiet) - 1, -1, -1):
        owner = kernel[node]
        if owner >= 0 and owner not in loud:
            loud.add(owner)
            quiet[node] = False
    return quiet


def find_all_quiet_ids(report: Report) -> list[str]:
    """Ids of the nodes, of any stage, that only look at other data."""
    columns = report.nodes.columns
    targets: Sequence[str] = columns.get("target", ())
    quiet = {target for target in set(targets) if strip_op_name(target) in _QUIET}
    ids: Sequence[str] = columns.get("id", ())
    return [id for id, target in zip(ids, targets, strict=True) if target in quiet]
