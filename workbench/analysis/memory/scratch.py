"""Memory that library calls take and give back while they run, with a bound where known."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod

from workbench.analysis.fusion.traffic import VIEWS, NodeFacts, select_nodes
from workbench.analysis.memory.storages import IN_CPP, name_operator
from workbench.analysis.memory.timeline import Timeline, is_on_cpu
from workbench.number_text import number_text

_PRODUCTS = frozenset(("mm", "addmm", "bmm", "baddbmm", "dot", "mv", "addmv"))
"""What takes none of torch's allocator on a CPU: MKL has its own, which the profiler cannot see.

With AVX-512 matmuls of 16 bits are oneDNN's, which takes it from torch's.
"""
_WITHOUT = frozenset(
    ("_int_mm", "topk", "copy_", "fill_", "randint", "rand", "randn", "bernoulli", "clone")
)
_PER_ELEMENT = frozenset(("add", "div", "exp", "mul", "neg", "reciprocal", "sub"))
"""What computes element by element: torch casts operands of another dtype in memory first."""
_HALVES = ("bfloat16", "float16")
_ATTENTION = "_scaled_dot_product_flash_attention_for_cpu"
_BACKWARD = f"{_ATTENTION}_backward"
_NAMES = {
    _ATTENTION: "attention",
    _BACKWARD: "the backward pass of attention",
    "convolution": "convolution",
    "convolution_backward": "the backward pass of convolution",
}
_FLOAT = 4
_ROWS = ((768, 256), (192, 64), (0, 32))  # from so many positions on, so many are one piece
_COLUMNS = 512
_SIZES = {"float32": 4, "float64": 8, "bfloat16": 2, "float16": 2}
_CHANNELS = 16  # a block of oneDNN's layouts with 512 bit
_COPIES, _COPIES_OF_OTHERS = (2, 1), (1, 4)  # of image and result; of others sums are float32
_BLOCK_OF_THREAD = 1 << 16
_COLORS = 3  # so few channels stay as they are
_VOLUME = 5  # dimensions
_SMALL = 20480  # one image of so many elements at most is not given to oneDNN: Convolution.cpp
Shape = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Scratch:
    """What a library call takes at most while it runs, in a step; None: it cannot be told."""

    step: int
    operator: str
    bytes: int | None


def list_scratch(timeline: Timeline) -> tuple[Scratch, ...]:
    """The library calls that take memory of their own, in their order.

    On a GPU the libraries choose their workspaces when they run, so that none is known.
    """
    on_cpu = is_on_cpu(timeline.report)
    by_kernel = {row.id: row.nodes for row in timeline.report.kernels}
    nodes = _nodes(
        timeline, {id for kernel in timeline.kernels for id in by_kernel.get(kernel or "", ())}
    )
    rows = []
    for number, (step, kernel) in enumerate(
        zip(timeline.walk.steps, timeline.kernels, strict=True)
    ):
        if "." not in step.kernel and not step.kernel.startswith(IN_CPP):
            continue
        operator = name_operator(step.kernel)
        own = [nodes[id] for id in by_kernel.get(kernel or "", ()) if id in nodes]
        if operator in VIEWS or (on_cpu and _takes_nothing(timeline, operator, own, nodes)):
            continue
        bound = _bound(timeline, operator, own, nodes) if on_cpu else None
        rows.append(Scratch(number, _NAMES.get(operator, operator), bound))
    return tuple(rows)


def _takes_nothing(
    timeline: Timeline, operator: str, own: Sequence[NodeFacts], nodes: Mapping[str, NodeFacts]
) -> bool:
    """Whether a library call on the CPU takes no memory of torch's but that of its result."""
    if operator in _WITHOUT or _is_per_element(operator, own, nodes):
        return True
    is_wide = timeline.report.environment.isa.startswith("AVX512")
    is_half = any(node.dtype in _HALVES for node in own)
    return operator in _PRODUCTS and not (is_wide and is_half)


def _bound(
    timeline: Timeline, operator: str, own: Sequence[NodeFacts], nodes: Mapping[str, NodeFacts]
) -> int | None:
    """What a library call on the CPU takes at most while it runs; None where it is not known."""
    threads = timeline.report.environment.threads
    call = next((node for node in own if _is_of(operator, node)), None)
    if operator == "abs":
        return _of_complex_abs(own, nodes)
    if call is None or not threads:
        return None
    if operator in _PRODUCTS:
        return _of_product(call, nodes, threads)
    if operator.startswith("convolution"):
        return _of_convolution(timeline, operator, call, nodes)
    return _of_attention(operator, call, nodes, threads) if operator in _NAMES else None


def _nodes(timeline: Timeline, ids: set[str]) -> dict[str, NodeFacts]:
    own = select_nodes(timeline.report, "id", ids)
    inputs = {id for node in own.values() for id in node.inputs}
    return own | select_nodes(timeline.report, "id", inputs - own.keys())


def _of_product(call: NodeFacts, nodes: Mapping[str, NodeFacts], threads: int) -> int | None:
    """What oneDNN's brgemm takes at most for a matmul of 16 bits: for each thread its operands.

    They are copied in blocks, and sums are kept in float32 (brgemm_matmul_utils.cpp, buffer_a, _b
    and _c). Read from the code and not measured. Without AVX-512 torch has a loop of its own, which
    takes nothing (measured, AVX2).
    """
    whole = [*[nodes[id] for id in call.inputs if id in nodes][-2:], call]
    sizes = [[n for n in node.shape or () if isinstance(n, int)] for node in whole]
    if len(whole) < 3 or any(
        not size or len(size) != len(node.shape or ())
        for size, node in zip(sizes, whole, strict=True)
    ):
        return None
    left, right, result = (prod(size[:-1]) * _up(size[-1]) for size in sizes)
    return threads * (2 * (left + right) + _FLOAT * result)


def _is_per_element(
    operator: str, own: Sequence[NodeFacts], nodes: Mapping[str, NodeFacts]
) -> bool:
    """Whether each element is computed by itself, from operands of one dtype."""
    if operator not in _PER_ELEMENT or not own:
        return False
    dtypes = {nodes[id].dtype for node in own for id in node.inputs if id in nodes}
    return dtypes <= {node.dtype for node in own}


def _of_complex_abs(own: Sequence[NodeFacts], nodes: Mapping[str, NodeFacts]) -> int | None:
    """The result as complex numbers, which torch's UnaryOps.cpp makes first and takes apart."""
    inputs = [nodes[id] for node in own for id in node.inputs if id in nodes]
    sizes = [node.bytes for node in inputs if (node.dtype or "").startswith("complex")]
    return sizes[0] if len(sizes) == 1 else None


def _is_of(operator: str, node: NodeFacts) -> bool:
    """Whether a node calls an operator: `aten.convolution.default` does not call its backward."""
    return f".{operator}." in f".{node.target}."


def _of_convolution(
    timeline: Timeline, operator: str, call: NodeFacts, nodes: Mapping[str, NodeFacts]
) -> int | None:
    """What a convolution takes where oneDNN does it as it was measured: on x86."""
    environment = timeline.report.environment
    inputs = [nodes.get(id) for id in call.inputs[:3]]
    backward = operator != "convolution"
    result, image, weight = inputs if backward else (call, *inputs[:2])
    operands = [node for node in (image, weight, result) if node is not None]
    shapes = [node.shape for node in operands if node.dtype == operands[0].dtype]
    if len(shapes) < 3 or "x86_64" not in environment.platform:
        return None
    sizes = [tuple(n for n in shape or () if isinstance(n, int)) for shape in shapes]
    if {len(shape) for shape in sizes} not in ({3}, {4}, {5}):
        return None
    pixels, window, output = sizes
    if backward:
        return backward_bytes(pixels, window, output, operands[0].dtype, environment.threads)
    wide = environment.isa.startswith("AVX512")
    return convolution_bytes(
        pixels, window, output, operands[0].dtype, environment.threads, wide=wide
    )


def convolution_bytes(
    image: Shape, weight: Shape, result: Shape, dtype: str | None, threads: int, *, wide: bool
) -> int | None:
    """What a convolution takes at most: copies in blocks of channels, and unfolded images.

    oneDNN copies what comes in blocks of 16 channels, the weights in each call; with 512 bit
    (`wide`) it has code of its own for most, without it unfolds images. What it does not support,
    torch unfolds, all images at once.
    """
    size = _SIZES.get(dtype or "")
    if size is None:
        return None
    groups, is_float = _groups(image, weight), dtype == "float32"
    images, results = _COPIES if is_float else _COPIES_OF_OTHERS
    filled, weights = _blocked(image), _blocked_weights(image, weight)
    if is_float and image[1] == weight[1] <= _COLORS and not _is_transposed(image, weight, result):
        filled, weights = prod(image), _up(weight[0]) * prod(weight[1:])
    weights += prod(weight)  # copied first where images are channels-last and they are not
    held = images * filled + results * _blocked(result) + weights
    if not is_float:
        unfolded = max(threads, image[0] * groups)
    elif _is_transposed(image, weight, result) or prod(weight[2:]) == 1:
        unfolded = threads
    elif not wide or groups > 1 or len(image) == _VOLUME or prod(image) <= _SMALL:
        unfolded = min(threads, image[0] * groups)
    else:
        unfolded = 0
    held += unfolded * _unfolded(image, weight, result)
    return size * held + threads * _BLOCK_OF_THREAD


def backward_bytes(
    image: Shape, weight: Shape, result: Shape, dtype: str | None, threads: int
) -> int | None:
    """What the backward takes at most: as `convolution_bytes`, and sums of weights by thread."""
    groups = _groups(image, weight)
    if dtype != "float32" or (len(image) == _VOLUME and groups > 1):
        return None
    held = 3 * _blocked(image) + 2 * _blocked(result) + 3 * _blocked_weights(image, weight)
    own = 4 * _blocked_weights(image, weight) + _unfolded(image, weight, result)
    own += _blocked((1, *result[1:]))
    return _FLOAT * (held + threads * own) + threads * _BLOCK_OF_THREAD


def _up(count: int) -> int:
    return -(-count // _CHANNELS) * _CHANNELS


def _blocked(shape: Shape) -> int:
    """Elements of an image whose channels are filled up to whole blocks."""
    return shape[0] * _up(shape[1]) * prod(shape[2:])


def _blocked_weights(image: Shape, weight: Shape) -> int:
    """Elements of the weights with one or both sides in blocks, by group where these are wide."""
    first, second, *window = weight
    many = second if second < _CHANNELS else _up(second)
    few = first if first < _CHANNELS else _up(first)
    groups = _groups(image, weight)
    by_group = [n if n < _CHANNELS // 2 else _up(n) for n in (first // groups, second)]
    return max(_up(first) * many, few * _up(second), groups * prod(by_group)) * prod(window)


def _groups(image: Shape, weight: Shape) -> int:
    """Of a convolution; of a transposed one it may be too few, whose images unfold as a whole."""
    return max(1, image[1] // weight[1])


def _is_transposed(image: Shape, weight: Shape, result: Shape) -> bool:
    """As far as sizes tell: the graph's row does not keep the flag."""
    return weight[0] == image[1] and any(
        size_in < size_out for size_in, size_out in zip(image[2:], result[2:], strict=True)
    )


def _unfolded(image: Shape, weight: Shape, result: Shape) -> int:
    """Elements of one image with its window at each place: of a group, if not transposed."""
    if _is_transposed(image, weight, result):
        return weight[0] * prod(weight[1:]) * prod(image[2:])
    return prod(weight[1:]) * prod(result[2:])


def _of_attention(
    operator: str, call: NodeFacts, nodes: Mapping[str, NodeFacts], threads: int
) -> int | None:
    """As FlashAttentionKernel.cpp of torch allocates it: pieces of scores for each thread."""
    places = (1, 2) if operator == _BACKWARD else (0, 1)
    inputs = [nodes.get(call.inputs[place]) for place in places if place < len(call.inputs)]
    shapes = [node.shape for node in inputs if node is not None and node.dtype == "float32"]
    if len(shapes) < 2 or not all(_is_known(shape) for shape in shapes):
        return None
    query, keys = (tuple(int(size) for size in shape or ()) for shape in shapes)
    length, width = query[-2], query[-1]
    rows = min(length, next(count for least, count in _ROWS if length >= least))
    columns = min(keys[-2], _COLUMNS)
    if operator == _BACKWARD:  # scores and their gradients, and a copy of what comes in
        return _FLOAT * (2 * threads * rows * columns + threads * rows + prod(query))
    return _FLOAT * threads * (rows * columns + 2 * rows + rows * width)


def _is_known(shape: tuple[int | str, ...] | None) -> bool:
    return shape is not None and len(shape) == 4 and all(isinstance(n, int) for n in shape)


def describe_scratch(rows: tuple[Scratch, ...], *, on_cpu: bool) -> str:
    """What the calls take, in a sentence; empty where they take none."""
    by_operator: dict[str, int] = {}
    for row in rows:
        if row.bytes is not None:
            by_operator[row.operator] = max(by_operator.get(row.operator, 0), row.bytes)
    open_ = dict.fromkeys(row.operator for row in rows if row.bytes is None)
    parts = [
        f"{name} allocates up to {number_text(most, 'bytes')} more on this CPU while it runs"
        for name, most in by_operator.items()
    ]
    if open_:
        where = "" if on_cpu else " on the GPU"
        *first, last = open_
        names = f"{', '.join(first)} and {last}" if first else last
        parts.append(f"temporary memory of {names}{where} is not known")
    return "; ".join(parts)
