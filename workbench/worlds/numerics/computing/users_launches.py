"""Triton kernels of the user in captured graphs, as nodes that can be run on the CPU.

A kernel writes to tensors that later nodes read by the name of what was allocated. Here each
launch gives new values, and later nodes read those, so that every node has one value.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from operator import getitem
from typing import Any

import torch

from workbench.compiler.call_state.call_leaves import copy_tensor
from workbench.compiler.captured_graphs.captured import (
    CapturedGraph,
    CapturedNode,
    HigherOrderRef,
    NodeRef,
    OperatorRef,
    filled,
)
from workbench.compiler.internals.signatures import signature_of
from workbench.errors import UsageError, read_first_line, suggest
from workbench.worlds.numerics.computing.precisions import Precision

_LAUNCHES = ("triton_kernel_wrapper_functional", "triton_kernel_wrapper_mutation")
_EXACT = (Precision.WIDE, Precision.UPCAST)
_NAMED = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)

Key = tuple[int, int]
"""Which launch it is, in every graph of a compilation: the numbers of kernel and constants."""
Launch = Callable[[str, tuple[int, int, int], Mapping[str, Any]], None]
"""Runs a kernel by its name on a grid, with its arguments by name."""


def _refuse_launch(name: str, grid: tuple[int, int, int], arguments: Mapping[str, Any]) -> None:
    raise NotImplementedError(f"{name} cannot run here")


@dataclass
class UsersCode:
    """What computes Triton kernels and operators of the user in the graphs of a program.

    `references` are by the name of a kernel or an operator, such as `lab.scale`, `written` has the
    arguments that a kernel changes. `launch` runs one as the user wrote it. `covered` are launches
    within operators that have a reference.
    """

    references: Mapping[str, Callable[..., Any]] = field(default_factory=dict)
    written: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    launch: Launch = _refuse_launch
    covered: set[Key] = field(default_factory=set)

    def run(self, name: str, grid: tuple[int, int, int], given: Mapping[str, Any]) -> None:
        """Run a kernel, or its reference, as code of the user launches it.

        Raises `NotImplementedError` for types that its program was not compiled for.
        """
        if name not in self.references:
            self.launch(name, grid, given)
            return
        names = self.written.get(name, ())
        results = apply_reference(name, self.references[name], given, names, is_exact=False)
        for argument, value in results.items():
            given[argument].copy_(value)


@dataclass(frozen=True)
class UsersLaunch:
    """A launch of a kernel of the user; `written` names the arguments that it writes to.

    Those in `copied` are left as they are, and what is written is only returned.
    """

    name: str
    key: Key
    written: tuple[str, ...]
    copied: tuple[str, ...]
    constants: Mapping[str, Any]
    code: UsersCode

    @property
    def __name__(self) -> str:
        """The name of the kernel."""
        return self.name

    def __repr__(self) -> str:
        """The same in every graph of a compilation."""
        return f"{self.name}{self.key}"

    @property
    def is_in_place(self) -> bool:
        """Whether it writes to what it is given."""
        return not set(self.written) <= set(self.copied)

    @property
    def has_reference(self) -> bool:
        """Whether the user says what it should compute."""
        return self.name in self.code.references

    @property
    def is_known(self) -> bool:
        """Whether it has a reference, or the operator that launches it has."""
        return self.has_reference or self.key in self.code.covered

    def run(self, grid: Any, given: Mapping[str, Any], precision: Precision) -> dict[str, Any]:
        """What it writes, by argument: by its reference, else by the kernel as it is.

        Raises `NotImplementedError` for a kernel without a reference in a precision that only a
        formula has, and `UsageError` for a reference that does not fit.
        """
        if self.has_reference:
            results = apply_reference(
                self.name,
                self.code.references[self.name],
                {**self.constants, **given},
                self.written,
                is_exact=precision in _EXACT,
            )
        elif precision in _EXACT:
            raise NotImplementedError(explain_no_reference((self.name,)))
        else:
            results = {name: copy_tensor(given[name]) for name in self.written}
            x, y, z, *_ = (*map(int, grid), 1, 1)
            self.code.launch(self.name, (x, y, z), {**self.constants, **given, **results})
        in_place = [name for name in self.written if name not in self.copied]
        return results | {name: given[name].copy_(results[name]) for name in in_place}


def apply_reference(
    name: str,
    reference: Callable[..., Any],
    given: Mapping[str, Any],
    written: Sequence[str],
    *,
    is_exact: bool,
) -> dict[str, Any]:
    """What a reference gives for the arguments that a kernel writes, in their types.

    `is_exact` says that it is asked for in float64. Raises `UsageError` for a reference that does
    not fit, and `NotImplementedError` for one that has no value in float64.
    """
    arguments = {
        parameter: copy_tensor(given[parameter])
        if isinstance(given[parameter], torch.Tensor)
        else given[parameter]
        for parameter in name_wanted(reference, given)
    }
    try:
        value = reference(**arguments)
    except Exception as error:  # of the user's function, which may raise whatever Python can
        why = f"{type(error).__name__}: {read_first_line(error)}"
        if is_exact:
            raise NotImplementedError(f"its reference raises {why}") from error
        raise UsageError(f"The reference of {name} raises {why}") from error
    if isinstance(value, torch.Tensor) and len(written) == 1:
        value = {written[0]: value}
    if not isinstance(value, Mapping) or {*value} != {*written}:
        raise UsageError(
            f"The reference of {name} returns a {type(value).__name__}: expected "
            + ("the tensor" if len(written) == 1 else "a dict with the tensors")
            + f" that the kernel writes ({', '.join(written)})."
        )
    for parameter in written:
        own, original = value[parameter], given[parameter]
        if not isinstance(own, torch.Tensor) or own.shape != original.shape:
            got = list(own.shape) if isinstance(own, torch.Tensor) else type(own).__name__
            raise UsageError(
                f"The reference of {name} returns {got} for {parameter}: expected a tensor of "
                f"{list(original.shape)}, as in the kernel's argument."
            )
    return {parameter: value[parameter].to(given[parameter].dtype) for parameter in written}


@dataclass(frozen=True)
class UsersReference:
    """Stands for an operator of the user, in every graph that has it."""

    name: str
    function: Callable[..., Any]

    @property
    def __name__(self) -> str:
        return self.name

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """What the reference gives."""
        return self.function(*args, **kwargs)


@dataclass(frozen=True)
class BoundGraph(CapturedGraph):
    """A graph whose launches can be run.

    `values` has, for each value that a launch gives, the node with its sizes and the node of the
    launch that the record knows.
    """

    values: Mapping[str, tuple[str, str]] = field(default_factory=dict)


def explain_no_reference(names: tuple[str, ...]) -> str:
    """Why kernels of the user are not checked."""
    kernels = "kernel" if len(names) == 1 else "kernels"
    return f"your Triton {kernels} {', '.join(names)} without a reference"


def name_wanted(reference: Callable[..., Any], known: Mapping[str, Any]) -> tuple[str, ...]:
    """The arguments of a kernel that its reference takes.

    Raises `UsageError` for one that asks for others, or whose parameters have no names.
    """
    try:
        parameters = signature_of(reference).parameters.values()
    except (TypeError, ValueError):
        parameters = ()  # type: ignore[assignment]
    if any(parameter.kind is inspect.Parameter.VAR_KEYWORD for parameter in parameters):
        return tuple(known)
    names = [parameter.name for parameter in parameters if parameter.kind in _NAMED]
    lacking = [
        parameter.name
        for parameter in parameters
        if parameter.default is inspect.Parameter.empty and parameter.name not in known
    ]
    if lacking or not names:
        shown = getattr(reference, "__name__", type(reference).__name__)
        what = f"asks for {', '.join(lacking)}" if lacking else "has no named parameters"
        raise UsageError(
            f"The reference {shown} {what}: name its parameters after parameters of the kernel "
            f"({', '.join(known)})."
        )
    return tuple(name for name in names if name in known)


def read_references(
    references: Mapping[Any, Callable[..., Any]], graphs: Mapping[str, CapturedGraph]
) -> dict[str, Callable[..., Any]]:
    """References by the names that graphs have for kernels and operators.

    Raises `UsageError` for what no graph has.
    """
    known = {kernel.name for graph in graphs.values() for kernel in _list_kernels(graph)}
    operators = {name for graph in graphs.values() for name in graph.targets if "." in name}
    known |= {_strip(name) for name in operators if not name.startswith(("aten.", "prims."))}
    by_name = {}
    for key, reference in references.items():
        name = key
        while not isinstance(name, str) and hasattr(name, "fn"):  # of a tuner, of a kernel
            name = name.fn
        name = _strip(getattr(name, "__name__", str(name)).replace("::", "."))
        if name not in known:
            have = f"It has {', '.join(sorted(known))}" if known else "It has none"
            raise UsageError(
                f"references has {name}, but the call has no kernel or operator of yours with that "
                f"name. {have}.{suggest(name, known)}"
            )
        by_name[name] = reference
    return by_name


def _list_kernels(graph: CapturedGraph) -> Iterator[Any]:
    yield from graph.kernels.values()
    for part in graph.parts.values():
        yield from _list_kernels(part)


def _strip(operator: str) -> str:
    return operator.removesuffix(".default")


def list_written(graphs: Mapping[str, CapturedGraph]) -> dict[Key, dict[str, str]]:
    """By launch the arguments that it writes to, and the nodes that have what it left there.

    Functional graphs say it: there a launch gives new tensors.
    """
    by_launch: dict[Key, dict[str, str]] = {}
    for graph in graphs.values():
        keys = {node.name: _key(node) for node in graph.nodes if _is_launch(node)}
        for node in graph.nodes:
            if _is_launch(node) and "tensors_to_clone" in node.kwargs:
                names = dict.fromkeys(node.kwargs["tensors_to_clone"], "")
                by_launch.setdefault(_key(node), names)
            if node.target is getitem and getattr(node.args[0], "name", "") in keys:
                written = by_launch.get(keys[node.args[0].name], {})
                if written.get(node.args[1]) == "":
                    written[node.args[1]] = node.name
    return by_launch


def name_written(graphs: Mapping[str, CapturedGraph]) -> dict[str, tuple[str, ...]]:
    """By kernel of the user the arguments that it writes to."""
    written = list_written(graphs)
    kernels = {key: one for graph in graphs.values() for key, one in graph.kernels.items()}
    return {kernels[key].name: tuple(names) for key, names in written.items() if key in kernels}


def name_values(graph: CapturedGraph) -> dict[tuple[Key, str], str]:
    """The nodes of a bound graph that have what a launch left in an argument of it."""
    launches = {
        node.name: node.target.key for node in graph.nodes if isinstance(node.target, UsersLaunch)
    }
    return {
        (launches[node.args[0].name], node.args[1]): node.name
        for node in graph.nodes
        if node.target is getitem and getattr(node.args[0], "name", "") in launches
    }


def _is_launch(node: CapturedNode) -> bool:
    return isinstance(node.target, HigherOrderRef) and node.target.name in _LAUNCHES


def _key(node: CapturedNode) -> Key:
    return node.kwargs["kernel_idx"], node.kwargs["constant_args_idx"]


def bind_graph(
    graph: CapturedGraph,
    code: UsersCode,
    written: Mapping[Key, Mapping[str, str]],
    *,
    is_lowered: bool,
) -> CapturedGraph:
    """The graph with launches and references in it that can be run.

    In a lowered graph values have the names that they have in the functional ones before it.
    """
    if not any(_is_launch(node) or _refers(node, code) for node in graph.nodes) and not graph.parts:
        return graph
    binding = _Binding(graph, code, written, is_lowered)
    nodes = tuple(binding.list_nodes())
    parts = {
        name: bind_graph(part, code, written, is_lowered=is_lowered)
        for name, part in graph.parts.items()
    }
    own = {member: getattr(graph, member) for member in CapturedGraph.__dataclass_fields__}
    return BoundGraph(**{**own, "nodes": nodes, "parts": parts}, values=binding.values)


def _refers(node: CapturedNode, code: UsersCode) -> bool:
    return isinstance(node.target, OperatorRef) and _strip(node.target.name) in code.references


class _Renamed(dict[str, NodeRef]):
    """What a node stands for behind the launches so far: itself, where none wrote to it."""

    def __missing__(self, name: str) -> NodeRef:
        return NodeRef(name)


class _Binding:
    """Makes the nodes of a bound graph."""

    def __init__(
        self,
        graph: CapturedGraph,
        code: UsersCode,
        written: Mapping[Key, Mapping[str, str]],
        is_lowered: bool,
    ):
        self._graph = graph
        self._code = code
        self._written = written
        self._is_lowered = is_lowered
        self._names = {node.name for node in graph.nodes}
        self.values: dict[str, tuple[str, str]] = {}

    def list_nodes(self) -> Iterator[CapturedNode]:
        """The nodes in their order, a value behind each launch for each argument it writes to."""
        now = _Renamed()
        for node in self._graph.nodes:
            args, kwargs = filled((node.args, node.kwargs), now)
            bound = replace(node, args=args, kwargs=kwargs)
            if _refers(node, self._code):
                name = _strip(node.target.name)
                yield replace(bound, target=UsersReference(name, self._code.references[name]))
            elif _is_launch(node):
                yield from self._bind(bound, now)
            else:
                yield bound

    def _bind(self, node: CapturedNode, now: _Renamed) -> Iterator[CapturedNode]:
        key, arguments = _key(node), node.kwargs["kwargs"]
        kernel = self._graph.kernels[key]
        own = dict(
            self._written.get(key)
            or dict.fromkeys(
                [name for name, value in arguments.items() if isinstance(value, NodeRef)], ""
            )
        )
        copied = tuple(node.kwargs.get("tensors_to_clone", ()))
        launch = UsersLaunch(kernel.name, key, tuple(own), copied, kernel.constants, self._code)
        if launch.has_reference:
            name_wanted(self._code.references[kernel.name], {**kernel.constants, **arguments})
        # of several configurations the first one is run, as in the program
        kwargs = {"grid": node.kwargs["grid"][0], "given": arguments}
        if not launch.is_in_place:
            yield CapturedNode(node.name, "call_function", launch, (), kwargs)
            return
        start = f"{node.name}.launch"
        yield CapturedNode(start, "call_function", launch, (), kwargs)
        for number, (argument, later) in enumerate(own.items()):
            name = later if self._is_lowered and later not in {*self._names, ""} else node.name
            if name == node.name and number:
                name = f"{node.name}.{argument}"
            base = arguments[argument].name
            self.values[name] = self.values.get(base, (base, ""))[0], node.name
            now[base] = NodeRef(name)
            for old, new in now.items():  # what stood for the same tensor before
                if new.name == base:
                    now[old] = NodeRef(name)
            yield CapturedNode(name, "call_function", getitem, (NodeRef(start), argument), {})
