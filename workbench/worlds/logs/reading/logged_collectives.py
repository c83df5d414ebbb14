"""The collectives that generated programs start and await, as the programs in logs are written."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from workbench.artifacts.programs import Dims, parse_graph
from workbench.compiler.rows.program_rows import place_collective
from workbench.report import Buffer, Kernel
from workbench.report.collectives.collective_rows import Collective, name_kind
from workbench.worlds.logs.reading.kernel_code import CodeBuffer, CodeKernel

_CALL = re.compile(r"torch\.ops\._c10d_functional\.(\w+?)_?\.")
_NODE = re.compile(r"_c10d_functional\.(\w+?)_?(?:\.|$)")
_TEXT = re.compile(r"'(\w+)'")
_WAIT = "wait_tensor"
_NAME = re.compile(r"""(?:group_name\s*=\s*)?(["'])(.*)\1""")
_UNMODELLED = "a log does not have the ranks of the group"


def list_collectives(
    program: Sequence[tuple[CodeKernel, Kernel]], buffers: Mapping[str, Buffer], first: int
) -> Iterator[Collective]:
    """A row for each that one program starts, in its order; ids go on from `c{first}`.

    `buffers` are those of the program by name. Bytes are as NCCL counts them: what an all-gather
    gives, what any other takes; None where a size is symbolic.
    """
    silent = {place for place, (code, _) in enumerate(program) if _CALL.match(code.name)}
    kernels = [kernel for _, kernel in program]
    for place, (code, kernel) in enumerate(program):
        called = _CALL.match(code.name)
        if called is None or called[1] == _WAIT:
            continue
        kind = name_kind(called[1])
        inputs = [buffers[name] for name in code.reads if name in buffers]
        ranks = _read_group_size(kind, code.arguments)
        row = Collective(
            id=f"c{first}",
            graph=kernel.graph or "",
            is_backward=kernel.is_backward,
            op=kind,
            bytes=_count_bytes(inputs, (ranks or 0) if kind == "all_gather" else 1),
            dtype=next((buffer.dtype for buffer in inputs if buffer.dtype), None),
            group=_read_group(code.arguments),
            group_size=ranks,
            node=next(iter(kernel.nodes), None),
            why=_UNMODELLED,
        )
        yield place_collective(row, kernels, place, _find_wait(program, place), silent)
        first += 1


def list_graph_collectives(text: str, *, is_backward: bool) -> Iterator[Collective]:
    """A row for each that one printed graph starts, in its order.

    For backends that generate no program, as `aot_eager` and `eager`.
    """
    sizes: dict[str, tuple[str | None, int | None]] = {}
    for node in parse_graph(text):
        sizes[node.name] = node.type.dtype, node.type.bytes
        called = _NODE.match(node.target)
        if called is None or called[1] == _WAIT:
            continue
        kind = name_kind(called[1])
        inputs = [sizes.get(name, (None, None)) for name in node.inputs]
        parts = [size for _, size in inputs]
        total = None if None in parts else sum(size or 0 for size in parts)
        yield Collective(
            id="",
            graph="",
            is_backward=is_backward,
            op=kind,
            bytes=node.type.bytes if kind == "all_gather" else total,
            dtype=next((dtype for dtype, _ in inputs if dtype), None),
            group=texts[-1] if (texts := _TEXT.findall(node.code)) else "",
        )


def tell_results(
    program: Sequence[CodeKernel], buffers: Mapping[str, CodeBuffer], dtypes: Mapping[str, str]
) -> None:
    """Give what collectives return the dtype of what they are given, and the shape that follows.

    A program checks the shapes of results where torch does not leave that out, and tells no dtype.
    `buffers` are those of the program by name, `dtypes` those that its graph tells. In the order of
    the calls, so that what is made from a result is known too.
    """
    for code in program:
        called = _CALL.match(code.name)
        if called is None or called[1] == _WAIT:
            continue
        inputs = [buffers[name] for name in code.reads if name in buffers]
        results = [buffers[name] for name in code.writes if name in buffers]
        input_dtypes = {one.dtype or dtypes.get(one.name) for one in inputs}
        for result in results:
            if result.dtype is None and len(input_dtypes) == 1:
                result.dtype = next(iter(input_dtypes))
            if result.shape is None and len(inputs) == len(results) == 1:
                kind = name_kind(called[1])
                ranks = _read_group_size(kind, code.arguments)
                result.shape = _follow_shape(kind, inputs[0].shape, ranks)


def _follow_shape(kind: str, shape: Dims | None, ranks: int | None) -> Dims | None:
    """Of the result; None where it takes more than the shape of what is given."""
    if kind in ("all_reduce", "broadcast"):
        return shape
    first = shape[0] if shape else None
    if not shape or not isinstance(first, int) or not ranks:
        return None
    rows = {"all_gather": first * ranks, "reduce_scatter": first // ranks}.get(kind)
    return None if rows is None else (rows, *shape[1:])


def _count_bytes(buffers: Sequence[Buffer], times: int) -> int | None:
    """Those of all buffers, so many times; None where one is not known."""
    sizes = [buffer.bytes for buffer in buffers]
    if not times or not sizes or None in sizes:
        return None
    return times * sum(size or 0 for size in sizes)


def _read_group_size(kind: str, arguments: Sequence[str]) -> int | None:
    """How many ranks the group has, for the operators that take it before the group's name."""
    size_text = arguments[-2].strip() if len(arguments) > 2 else ""
    is_told = kind in ("all_gather", "reduce_scatter") and size_text.isdecimal()
    return int(size_text) if is_told else None


def _find_wait(program: Sequence[tuple[CodeKernel, Kernel]], start: int) -> int | None:
    """Where one waits for what a call gives, or for what it writes in place; the first of them."""
    names = {*program[start][0].writes, *program[start][0].reads}
    for place in range(start + 1, len(program)):
        code = program[place][0]
        called = _CALL.match(code.name)
        if called is not None and called[1] == _WAIT and not names.isdisjoint(code.reads):
            return place
    return None


def _read_group(arguments: Sequence[str]) -> str:
    """The name of the process group: the last text among the arguments; "" where it is an object.

    Operators take what they reduce by before it.
    """
    texts = [match[2] for argument in arguments if (match := _NAME.fullmatch(argument.strip()))]
    return texts[-1] if texts and arguments[-1].strip().endswith(("'", '"')) else ""
