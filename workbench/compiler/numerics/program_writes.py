"""What each kernel of a generated program writes: the variables, and the nodes that they hold."""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from workbench.artifacts.programs import Call, Share, find_kernels, read_program, split_parts
from workbench.compiler.captured_graphs.captured import CapturedNode, NodeRef
from workbench.compiler.numerics.cones import IndexedGraph
from workbench.compiler.numerics.users_launches import UsersLaunch
from workbench.report import Kernel, Node, Report

_SIGNATURE = re.compile(r"'signature': (\{[^{}]*\})")
_USERS = "custom_kernel=True"
_IN_PLACE = "in_out_ptr"
_PARAMETERS = re.compile(r'(?:extern "C"\s+void\s+\w+|\ndef triton_\w+)\(([^)]*)\)')
_READS = ("loadu(", "tl.load(", " = ")
_VIEW = "reinterpret_tensor("

View = tuple[tuple[int, ...], tuple[int, ...], int]
_Left = tuple[tuple[tuple[str, str], ...], Mapping[str, View]]


@dataclass(frozen=True)
class KernelWrites:
    """One call of a kernel of the record, and what it writes: variable and node of each buffer.

    `views` has sizes, strides and offset of a part of a variable's memory that holds its node.
    """

    kernel: Kernel
    values: tuple[tuple[str, str], ...]
    views: Mapping[str, View] = field(default_factory=dict)


def find_call(
    calls: Iterable[KernelWrites], name: str, variables: Collection[str]
) -> KernelWrites | None:
    """The call that a statement with these variables is.

    Of several buffers in one place only the last has its name in the statement, and the parts of
    what a library call gives are named by the statements behind it.
    """
    alike = [call for call in calls if call.kernel.name == name]
    own = (call for call in alike if any(one in variables for one, _ in call.values))
    loose = (call for call in alike if not call.values or not call.kernel.is_generated)
    return next(own, next(loose, None))


@dataclass
class _Launches:
    """The launches of kernels of the user in a program, in the order of its calls.

    `given` has the nodes of variables that one reads and no buffer of the record names, `left` for
    each launch what it writes, as in `KernelWrites`.
    """

    given: dict[str, str] = field(default_factory=dict)
    left: list[_Left] = field(default_factory=list)

    @property
    def changed(self) -> set[str]:
        """The variables that any of them writes to."""
        return {variable for values, _ in self.left for variable, _ in values}


def list_writes(
    report: Report, program: str, graph: IndexedGraph, rows: Mapping[str, Node], source: str
) -> tuple[KernelWrites, ...]:
    """The kernels of a program, by the id of its graph of buffers, in the order of its calls.

    `graph` is what was lowered to it, with the `rows` that the record has of its nodes.
    """
    launches = _find_launches(report, program, graph, source)
    buffers = list(_list_buffers(report, program, rows, launches))
    by_node: dict[str, list[tuple[str, str]]] = {}
    for variable, node, writers in buffers:
        for writer in writers:
            by_node.setdefault(writer, []).append((variable, node))
    found = []
    for kernel in report.kernels:
        nodes, calls = kernel.scheduler_nodes, max(1, kernel.calls)
        size = len(nodes) // calls if len(nodes) % calls == 0 else len(nodes)
        for first in range(0, len(nodes), max(1, size)):  # equal layers call one kernel in turn
            own = nodes[first : first + size]
            values = tuple(value for name in own for value in by_node.get(name, ()))
            if kernel.graph == program:
                found.append(KernelWrites(kernel, values))
    values_of = {variable: node for variable, node, _ in buffers}
    return _in_order_of_calls(found, source, values_of, launches)


def _list_buffers(
    report: Report, program: str, rows: Mapping[str, Node], launches: _Launches
) -> Iterator[tuple[str, str, tuple[str, ...]]]:
    """The buffers that hold the value of a node: the variable, the node, what writes it.

    One that is filled first and added to by a later kernel, as the gradient of a table is, holds
    it when that one has run: the later buffer has no node of its own. What a kernel of the user
    changes holds it until then.
    """
    own = [buffer for buffer in report.buffers if buffer.graph == program and buffer.written_by]
    added = {
        b.stored_in: b.written_by for b in own
        if b.stored_in and b.node is None and b.stored_in not in launches.changed
    }  # fmt: skip
    for buffer in own:
        node = (buffer.node or "").partition(":")[2]
        read = launches.given.get(buffer.name, "")
        if not node and read in rows and rows[read].shape == buffer.shape:
            node = read
        if node in rows:
            writers = added.get(buffer.name, buffer.written_by)
            yield buffer.stored_in or buffer.name, node, writers


def _in_order_of_calls(
    kernels: list[KernelWrites], source: str, values: Mapping[str, str], launches: _Launches
) -> tuple[KernelWrites, ...]:
    """Kernels as the program calls them, with the parts of what a library call gives.

    The record has them in the order of their making.
    """
    program, users = read_program(source, {}), _read_users_kernels(source)
    ordered: list[KernelWrites] = []
    by_result: dict[str, int] = {}
    left = iter(launches.left)
    defined = {one.name: one for one in find_kernels(source) if _IN_PLACE in one.source}
    for event in () if program is None else program.events:
        if isinstance(event, Call):
            said = frozenset(re.findall(r"\w+", f"{event.arguments} {event.result}"))
            fit = find_call(kernels, event.kernel, said)
            own = next(left, ((), {})) if event.kernel in users else None
            if fit is not None:
                kernels.remove(fit)
                if event.kernel in defined:
                    lost = list_unwritten(defined[event.kernel].source, event.split_arguments())
                    fit = replace(fit, values=tuple(v for v in fit.values if v[0] not in lost))
                by_result[event.result or ""] = len(ordered)
                ordered.append(fit if own is None else KernelWrites(fit.kernel, *own))
        elif isinstance(event, Share) and event.part is not None and event.base in by_result:
            place, node = by_result[event.base], values.get(event.name)
            one, part = ordered[place], (event.name, node or "")
            if node is not None and part not in one.values:
                ordered[place] = replace(one, values=(*one.values, part))
    return (*ordered, *kernels)


def list_unwritten(source: str, arguments: Sequence[str]) -> set[str]:
    """The variables that a kernel is passed to write in place, and only reads.

    Of a value that no other kernel reads Inductor drops the store, and still passes its memory. In
    C++ one memory may have several names: what is written by another name may be written.
    """
    found = _PARAMETERS.search(source)
    if found is None:
        return set()
    names = [
        re.split(r"[\s*&]", part.partition(":")[0].strip())[-1] for part in found[1].split(",")
    ]
    return {
        passed for name, passed in zip(names, arguments, strict=False)
        if name.startswith(_IN_PLACE) and all(
            source[: use.start()].endswith(_READS) and source[use.end()] != ";"
            for use in re.finditer(rf"\b{name}\b", source) if use.start() > found.end()
        )
    }  # fmt: skip


def _read_users_kernels(source: str) -> dict[str, tuple[str, list[str]]]:
    """By the name of a statement the kernel of the user behind it, and what it is passed in turn.

    Constants of the compilation are not passed.
    """
    found = {}
    for kernel in find_kernels(source) if _USERS in source else ():
        if kernel.language == "triton" and _USERS in source[kernel.start : kernel.end]:
            name = ast.literal_eval(split_parts(kernel.arguments)[0])
            kinds = read_signature(kernel.evaluate_source())
            found[kernel.name] = name, [one for one, kind in kinds.items() if kind != "constexpr"]
    return found


def read_signature(source: str) -> dict[str, str]:
    """The types that a Triton kernel was compiled for, by argument, as its source has them."""
    found = _SIGNATURE.search(source)
    return {} if found is None else dict(ast.literal_eval(found[1]))


def _find_launches(report: Report, program: str, graph: IndexedGraph, source: str) -> _Launches:
    """Pair the calls of kernels of the user in a program with the launches in its graph."""
    waiting = [node for node in graph.graph.nodes if isinstance(node.target, UsersLaunch)]
    found = _Launches()
    read = read_program(source, {}) if waiting else None
    users = _read_users_kernels(source) if waiting else {}
    named = {
        buffer.name: buffer.node.partition(":")[2] for buffer in report.buffers
        if buffer.graph == program and buffer.node is not None
    }  # fmt: skip
    for event in () if read is None else read.events:
        if not isinstance(event, Call) or event.kernel not in users:
            continue
        name, parameters = users[event.kernel]
        passed = dict(zip(parameters, event.split_arguments(), strict=False))
        fits = (node for node in waiting if _is_launch_of(node, name, passed, named))
        launch = next(fits, None)
        left: dict[str, str] = {}
        views: dict[str, View] = {}
        if launch is not None:
            waiting.remove(launch)
            for node in _list_values(graph, launch):
                variable, view = _read_passed(passed.get(str(node.args[1]), ""))
                if variable:
                    left[variable] = node.name
                    views |= {variable: view} if view is not None else {}
            found.given |= {
                passed[argument]: value.name
                for argument, value in launch.kwargs["given"].items()
                if isinstance(value, NodeRef) and argument not in launch.target.written
                and passed.get(argument, "").isidentifier() and passed[argument] not in named
            }  # fmt: skip
            named |= left  # the variable holds another value from here on
        found.left.append((tuple(left.items()), views))
    return found


def _is_launch_of(
    node: CapturedNode, name: str, passed: Mapping[str, str], named: Mapping[str, str]
) -> bool:
    """Whether a call that is passed these may be a launch in the graph."""
    pairs = [
        (named.get(passed.get(argument, "")), value.name)
        for argument, value in node.kwargs["given"].items() if isinstance(value, NodeRef)
    ]  # fmt: skip
    return node.target.name == name and all(has in (None, want) for has, want in pairs)


def _list_values(graph: IndexedGraph, launch: CapturedNode) -> Iterator[CapturedNode]:
    """The nodes that have what a launch leaves in its arguments."""
    for node in graph.graph.nodes:
        if len(node.args) == 2 and node.args[0] == NodeRef(launch.name):
            yield node


def _read_passed(text: str) -> tuple[str, View | None]:
    """The variable that a statement passes, and which part of its memory; "" for what is neither.

    Of a part with symbolic sizes nothing is known.
    """
    if not text.startswith(_VIEW):
        return (text if text.isidentifier() else ""), None
    variable, *layout = split_parts(text.removeprefix(_VIEW).removesuffix(")"))
    try:
        size, stride, offset = (ast.literal_eval(part) for part in layout)
    except (ValueError, SyntaxError):
        return "", None
    return variable, (tuple(size), tuple(stride), int(offset))
