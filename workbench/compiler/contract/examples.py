"""Inputs made from an input contract or from descriptions, so that a call can be tried again."""

from __future__ import annotations

import ast
import contextlib
import mmap
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

import torch
from torch.export import Dim

from workbench.compiler.calls.paths import Key, Path
from workbench.compiler.contract.contract import Contract, Leaf
from workbench.compiler.internals import torch_private as tp
from workbench.compiler.internals.tensor_like import TensorLike
from workbench.compiler.request.compile_request import CompileRequest
from workbench.compiler.sizes.dims import Dynamic, Size
from workbench.errors import ArtifactError, UsageError
from workbench.number_text import number_text, plural

DTYPES = (
    *("float32", "float64", "float16", "bfloat16", "int64", "int32", "int16", "int8", "uint8"),
    *("bool", "complex64", "complex128"),
)
_NO_RESERVE = 0x4000  # MAP_NORESERVE of Linux: addresses without memory behind them
_LARGEST = 1 << 42  # bytes; of addresses, nothing is allocated
_LARGEST_ELSEWHERE = 1 << 28  # bytes; a GPU has no addresses without memory


def inputs_of(contract: Contract, device: str | None = None) -> dict[str, Any]:
    """Inputs by parameter name: random floats, zeros for everything else, constants as recorded.

    Tensors are where they were, or all on `device`.

    Raises `ArtifactError` when a leaf is an object that cannot be made from its description.
    """
    leaves = [leaf for leaf in contract.leaves or () if leaf.path.root != contract.receiver]
    return _tree((leaf.path, make_value(leaf, device)) for leaf in leaves)


def make_value(leaf: Leaf, device: str | None = None) -> Any:
    """A value for one leaf; raises `ArtifactError` for an object."""
    if leaf.kind == "tensor":
        value = leaf.like.empty(device)
        value = value.normal_() if value.is_floating_point() else value.zero_()
        return value.requires_grad_(leaf.requires_grad)
    if leaf.kind == "constant" and leaf.shape:
        return leaf.sizes[0]
    if leaf.kind == "constant":
        if leaf.type == "dtype":
            return getattr(torch, leaf.value.removeprefix("torch."))
        if leaf.type == "device":
            return torch.device(leaf.value.split("'")[1])
        if leaf.type == "float":  # an infinity is no literal
            return float(leaf.value)
        return ast.literal_eval(leaf.value)
    raise ArtifactError(
        f"{leaf.path} is a {leaf.type}, which cannot be created from its description. Recompile it "
        "directly: aot_compile(function, args)."
    )


def write_dynamic_shapes(contract: Contract) -> dict[str, Any] | None:
    """The `dynamic_shapes` that declare the contract's dimensions again, or None."""
    dims: dict[str, Any] = {}
    entries: list[tuple[Path, Any]] = []
    for leaf in contract.leaves or ():
        if leaf.kind == "constant":
            entries += [(leaf.path, _number(size)) for size in leaf.shape]
            continue
        declared = {
            index: _dim(size, dims)
            for index, size in enumerate(leaf.shape)
            if isinstance(size, Dynamic)
        }
        if declared:
            entries.append((leaf.path, declared))
    return _tree(entries) if entries else None


def _number(size: Size) -> Any:
    assert isinstance(size, Dynamic)
    return Dim.DYNAMIC if size.name is None else Dim.DYNAMIC(min=size.min, max=size.max)


def _dim(size: Dynamic, dims: dict[str, Any]) -> Any:
    if size.name is None:
        return Dim.AUTO
    if size.name not in dims:
        dims[size.name] = Dim(size.name, min=size.min, max=size.max)
    dim = dims[size.name]
    scaled = dim if size.scale == 1 else size.scale * dim
    return scaled + size.offset if size.offset else scaled


def _tree(leaves: Iterable[tuple[Path, Any]]) -> dict[str, Any]:
    """Nested dicts and lists with each value at its path."""
    root: dict[Key, Any] = {}
    for path, value in leaves:
        if any(kind == "attr" for kind, _ in path.steps):
            raise ArtifactError(
                f"{path} is inside an object, which cannot be created from its description. "
                "Recompile it directly: aot_compile(function, args)."
            )
        place = root
        *outer, last = path.root, *(key for _, key in path.steps)
        for key in outer:
            place = place.setdefault(key, {})
        place[last] = value
    return {str(name): _with_lists(value) for name, value in root.items()}


def _with_lists(value: Any) -> Any:
    if not isinstance(value, Mapping):
        return value
    inner = {key: _with_lists(part) for key, part in value.items()}
    is_list = bool(inner) and inner.keys() == set(range(len(inner)))
    return [inner[index] for index in range(len(inner))] if is_list else inner


# one tensor from its description, without the memory that its shape would take


@dataclass(frozen=True)
class Description:
    """One tensor of a call as it can be edited; `path` such as `L['x']`; sizes in elements."""

    path: str
    shape: tuple[int, ...]
    stride: tuple[int, ...]
    dtype: str
    device: str

    @property
    def like(self) -> TensorLike:
        """The tensor without its data."""
        return TensorLike.named(self.shape, self.stride, self.dtype, self.device)

    def to_json(self) -> dict[str, Any]:
        """JSON-ready data."""
        return {**asdict(self), "shape": list(self.shape), "stride": list(self.stride)}

    @classmethod
    def read(cls, data: Any, known: Description) -> Description:
        """Read an edited description; what it leaves out stays as it is in `known`.

        Raises `UsageError` for what no tensor can be.
        """
        shape = _sizes(data.get("shape", known.shape), f"the shape of {known.path}")
        stride = _sizes(data.get("stride", known.stride), f"the stride of {known.path}")
        if len(shape) != len(stride):
            has = f"{plural(len(shape), 'size')} and {plural(len(stride), 'stride')}"
            raise UsageError(f"{known.path} has {has}: give one stride for each size.")
        dtype = str(data.get("dtype", known.dtype)).removeprefix("torch.")
        if not isinstance(getattr(torch, dtype, None), torch.dtype):
            raise UsageError(f"{dtype!r} is not a dtype: expected one of {', '.join(DTYPES)}.")
        return cls(known.path, shape, stride, dtype, str(data.get("device", known.device)))


def _sizes(values: Any, what: str) -> tuple[int, ...]:
    is_list = isinstance(values, list | tuple)
    if not is_list or not all(type(value) is int and value >= 0 for value in values):
        raise UsageError(f"{what} is {values!r}: expected a list of whole numbers, 0 or more.")
    return tuple(values)


def make_tensor_like(leaf: Leaf, wanted: Description) -> torch.Tensor:
    """A tensor with the description's layout that is otherwise like the example's leaf.

    Its content is not defined. Raises `UsageError` where this machine cannot have such a tensor.
    """
    with torch.inference_mode() if leaf.inference else contextlib.nullcontext():
        value = tensor_of(wanted.like, wanted.path)
    wants = leaf.requires_grad and (value.is_floating_point() or value.is_complex())
    return replace(wanted.like, requires_grad=wants, kind=leaf.type).dressed(value)


def replace_fakes(request: CompileRequest) -> CompileRequest:
    """The request with zeros in place of fake tensors, for a compilation that is called here.

    Raises `UsageError` for one that would be too big or is on a device that is not here.
    """
    fake, inputs = tp.FAKE_TENSOR.get(), request.inputs
    if not any(isinstance(value, fake) for value in tp.TREE_LEAVES.get()(inputs)):
        return request  # the very objects, which may be written to

    def real(value: Any) -> Any:
        if not isinstance(value, fake):
            return value
        like = replace(TensorLike.of(value), kind="Tensor")
        tensor = tensor_of(like, "a fake example input")
        return like.dressed(tensor.zero_() if like.span <= mmap.PAGESIZE else tensor)

    args, kwargs = tp.TREE_MAP.get()(real, inputs)
    return replace(request, args=args, kwargs=kwargs)


def tensor_of(like: TensorLike, path: str) -> torch.Tensor:
    """A tensor with this layout; its content is not defined, that of a big one zero.

    Raises `UsageError`, naming the `path`, where this machine cannot have such a tensor.
    """
    is_cpu = like.device == "cpu"
    if like.span > (_LARGEST if is_cpu else _LARGEST_ELSEWHERE) and like.device != "meta":
        raise UsageError(
            f"{path} would span {number_text(like.span, 'bytes')}, too much memory for a trial "
            "here."
        )
    try:
        return _addressed(like) if is_cpu and like.span > mmap.PAGESIZE else like.empty()
    except (RuntimeError, AssertionError, OSError) as error:
        first = str(error).strip().split("\n")[0]
        raise UsageError(f"{path} cannot be created on {like.device}: {first}") from error


def _addressed(like: TensorLike) -> torch.Tensor:
    """A tensor over addresses that have no memory until they are touched."""
    flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | _NO_RESERVE
    storage = torch.frombuffer(mmap.mmap(-1, like.span, flags=flags), dtype=torch.uint8)
    return replace(like, offset=0).view(storage.untyped_storage())
