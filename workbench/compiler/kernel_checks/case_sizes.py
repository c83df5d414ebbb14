"""The calls of a kernel that are run: the given one, those of the user, one of other sizes.

A call of a kernel with sizes that are no multiples of a block, made of the given one.

What the sizes of a kernel mean is not known. One is changed where all that depends on it can be:
shapes, numbers equal to them, strides, how many elements there are. Where anything might stand for
something else, none is, with the reason.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import torch

from workbench.analysis.kernel_checks.kernel_check import UNTRIED
from workbench.compiler.kernels.kernel_call import KernelCall
from workbench.errors import UsageError, WorkbenchError
from workbench.number_text import join_words, plural

ONLY_GIVEN = "Only the given sizes were run; cases=[(args, …)] runs others"
_MOST = 4  # sizes that are named


@dataclass(frozen=True)
class Case:
    """One call, with what differs from the given one; `is_derived` where nobody asked for it."""

    name: str
    call: KernelCall
    is_derived: bool = False


def list_cases(
    call: KernelCall, cases: Sequence[Any] | None, written: Collection[str] = ()
) -> tuple[list[Case], str]:
    """The calls to run, the given one first, and why no other one is made of it.

    Without `cases` one is derived where that is safe; None has the given call alone run. `written`
    are arguments that the kernel only writes to. Raises `UsageError` for a case that is none.
    """
    original = Case("", call)
    if cases:
        others = [_make_case(call, case, number) for number, case in enumerate(cases, 1)]
        return [original, *others], ""
    derived, why_not = (None, "") if cases is None else derive_call(call, written)
    if derived is not None:
        return [original, Case(*derived, is_derived=True)], ""
    return [original], f"{ONLY_GIVEN} ({why_not})." if why_not else f"{ONLY_GIVEN}."


def say_untried(cases: Sequence[Case]) -> str:
    """Along which sizes no case has a block that is not whole; "" where each was tried."""
    if not cases:
        return ""
    whole = [_list_whole(case.call) for case in cases]
    untried = [name for place, name in whole[0].items() if all(place in sizes for sizes in whole)]
    if not untried:
        return ""
    names = list(dict.fromkeys(untried))
    listed = join_words(names) if len(names) <= _MOST else f"{join_words(names[:_MOST])}, …"
    return f"{UNTRIED} {listed}: every call has multiples of a block size there."


def _list_whole(call: KernelCall) -> dict[tuple[str, int], str]:
    """The axes of arguments that are multiples of a block, with what they are called."""
    try:
        meta = call.all_meta(call.configs[0].all_kwargs() if call.configs else {})
    except WorkbenchError:
        return {}
    numbers = {n: v for n, v in {**call.arguments, **meta}.items() if type(v) is int}
    constants = {n: v for n, v in numbers.items() if n in call.constants}
    blocks = find_blocks(constants)
    fixed = {v for n, v in constants.items() if n not in blocks}  # compiled in, as a head's size
    fixed -= {v for n, v in numbers.items() if n in call.arguments}
    named = {v: n for n, v in reversed(numbers.items()) if "stride" not in n.lower()}
    return {
        (name, axis): f"{named[size]} = {size}" if size in named else f"{name}.shape[{axis}]"
        for name, tensor in call.tensors().items()
        for axis, size in enumerate(tensor.shape)
        if size not in fixed and any(size and size % block == 0 for block in blocks.values())
    }


def _make_case(call: KernelCall, case: Any, number: int) -> Case:
    names = list(call.arguments)
    if isinstance(case, Mapping):
        changed = dict(case)
    elif isinstance(case, tuple | list):
        if len(case) > len(names):
            raise UsageError(
                f"{call.name}: case {number} has {plural(len(case), 'argument')}, but the kernel "
                f"takes {len(names)} ({', '.join(names)})."
            )
        changed = dict(zip(names, case, strict=False))
    else:
        raise UsageError(
            f"{call.name}: case {number} is a {type(case).__name__}. Pass a tuple of arguments, or "
            "a dict of the changed ones by name; `grid` may be one of them."
        )
    grid = changed.pop("grid", call.grid)
    values = {**call.arguments, **call.meta, **changed}
    changed_call = KernelCall.of(call.function, (), grid, values)
    return Case(_name_changes(call, changed_call) or f"case {number}", changed_call)


def _name_changes(call: KernelCall, changed: KernelCall) -> str:
    """The numbers and sizes that are others, in short."""
    changes = []
    for name, value in {**changed.arguments, **changed.meta}.items():
        old = call.arguments.get(name, call.meta.get(name))
        if isinstance(value, torch.Tensor):
            sizes = getattr(old, "shape", None)
            changes += [f"{name} {list(value.shape)}"] if sizes != value.shape else []
        elif isinstance(value, bool | int | float | str) and value != old:
            changes.append(f"{name} = {value}")
    return ", ".join(changes[:4])


_BLOCK = re.compile(r"block|tile|^b[a-z]{0,2}$", re.IGNORECASE)
_OTHERS = re.compile(  # counts that a kernel takes apart, and does not cover in blocks
    r"head|group|batch|seed|window|dilat|pad|half|stride|ratio|^(h|b|z|g|bs|bh)$", re.IGNORECASE
)
_WHOLE = re.compile(r"even|divis|align|full|exact|multiple|unmasked|no_?mask", re.IGNORECASE)
_INDICES = (torch.int16, torch.int32, torch.int64)
_UNSURE = "may also be something other than a size"
_LOG2_E = math.log2(math.e)


def derive_call(
    call: KernelCall, written: Collection[str] = ()
) -> tuple[tuple[str, KernelCall] | None, str]:
    """The call with one element less along every size that is a multiple of a block, and its name.

    Where that is not safe for all of them together, along one. Else the reason why none is, empty
    where no size is a multiple of a block. What integers of `written` hold decides nothing.
    """
    if call.generated:
        return None, "sizes are built into its generated source"
    try:
        config = call.configs[0].all_kwargs() if call.configs else {}
        sizes = _Sizes(call, call.all_meta(config), call.resolve_grid(config), frozenset(written))
    except WorkbenchError:
        return None, "its constants cannot be computed"
    chosen, why = sizes.choose()
    together = [chosen] if chosen else []
    for subset in (*together, *([value] for value in chosen if len(chosen) > 1)):
        try:
            return sizes.make(subset), ""
        except _Unsure as reason:
            why = why or str(reason)
    return None, why


def find_blocks(constants: Mapping[str, int]) -> dict[str, int]:
    """Which constants are sizes of blocks: by their names, else all that could be."""
    whole = {n: v for n, v in constants.items() if v > 1}
    return {n: v for n, v in whole.items() if _BLOCK.search(n)} or whole


class _Unsure(Exception):
    """Why other sizes might not be a call that the author of a kernel had in mind."""


@dataclass(frozen=True)
class _Sizes:
    call: KernelCall
    meta: Mapping[str, Any]
    grid: tuple[int, int, int]
    written: frozenset[str]
    tensors: Mapping[str, torch.Tensor] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "tensors", self.call.tensors())

    @property
    def numbers(self) -> dict[str, int]:
        """The whole numbers that are no constants."""
        return {n: v for n, v in self.call.arguments.items() if type(v) is int}

    @property
    def constants(self) -> dict[str, Any]:
        """The constants of the kernel, without options of Triton."""
        return {n: v for n, v in self.meta.items() if n in self.call.constants}

    @property
    def blocks(self) -> Collection[int]:
        """The sizes of blocks."""
        return find_blocks({n: v for n, v in self.constants.items() if type(v) is int}).values()

    def choose(self) -> tuple[list[int], str]:
        """The sizes that are multiples of a block, and why another is not taken."""
        dims = {size for tensor in self.tensors.values() for size in tensor.shape}
        chosen: dict[int, None] = {}
        why = ""
        for name, value in self.numbers.items():
            if value < 3 or value not in dims or _OTHERS.search(name):
                continue
            if not any(value % block == 0 for block in self.blocks):
                continue
            if self._are_programs(value):
                why = why or f"{name} = {value} {_UNSURE}"
            else:
                chosen[value] = None
        return [*chosen], why

    def make(self, values: Sequence[int]) -> tuple[str, KernelCall]:
        """The call with each of these sizes one less, and what is changed; raises `_Unsure`."""
        self._refuse(values)
        smaller = {value: value - 1 for value in values}
        tensors = {
            name: tensor[tuple(slice(smaller.get(n, n)) for n in tensor.shape)].clone(
                memory_format=torch.contiguous_format
            )
            for name, tensor in self.tensors.items()
        }
        named = {n: self._follow(n, v, smaller, tensors) for n, v in self.numbers.items()}
        constants = {
            n: self._follow(n, v, smaller, tensors)
            for n, v in self.call.meta.items()
            if type(v) is int and n in self.call.constants and not _BLOCK.search(n)
        }
        arguments = {**self.call.arguments, **tensors, **named}
        meta = {**self.call.meta, **constants}
        smaller_call = replace(self.call, arguments=arguments, meta=meta)
        self._refuse_grid(smaller_call)
        changed = [
            f"{name} = {value}"
            for name, value in named.items()
            if value != self.numbers[name] and "stride" not in name.lower()
        ]
        return ", ".join(changed), smaller_call

    def _are_programs(self, value: int) -> bool:
        """Whether there is one program, or a whole number of them, for each element of a size."""
        covered = {*self._covers()}
        return any(n > 1 and n % value == 0 and n not in covered for n in self.grid)

    def _covers(self) -> Iterator[int]:
        """How many blocks cover a size, and two."""
        sizes = {size for tensor in self.tensors.values() for size in tensor.shape}
        counts = {-(-size // block) for size in sizes for block in self.blocks}
        yield from counts
        yield from (a * b for a in counts for b in counts)

    def _refuse(self, values: Sequence[int]) -> None:
        call, first = self.call, self._name(values[0])
        allowed = torch.Tensor | int | float | None
        if any(not isinstance(value, allowed) for value in call.arguments.values()):
            raise _Unsure("it is unknown how its descriptors and tuples depend on sizes")
        if any(not tensor.is_contiguous() for tensor in self.tensors.values()):
            raise _Unsure("an argument is not contiguous")
        flat = all(tensor.ndim == 1 for tensor in self.tensors.values())
        if flat and any(not {*values} & {*tensor.shape} for tensor in self.tensors.values()):
            raise _Unsure(f"not every argument has the size {first}")
        for name, tensor in self.tensors.items():
            is_read = name not in self.written and tensor.dtype in _INDICES and tensor.numel()
            if is_read and int(tensor.max()) >= min(values) - 1:
                raise _Unsure("integers in an argument may be indices into another argument")
        for name, value in {**call.arguments, **self.constants}.items():
            if value is True and name in call.meta and _WHOLE.search(name):
                raise _Unsure(f"{name} requires whole sizes")
            if isinstance(value, float) and any(_comes_of(value, size) for size in values):
                raise _Unsure(f"{name} = {value:.4g} may depend on {first}")

    def _name(self, value: int) -> str:
        return next(f"{name} = {v}" for name, v in self.numbers.items() if v == value)

    def _follow(
        self, name: str, value: int, smaller: Mapping[int, int], tensors: Mapping[str, torch.Tensor]
    ) -> int:
        """What a number is for the smaller tensors; raises `_Unsure` where that is not clear."""
        if value < 2:
            return value
        of_strides, of_counts = set[int](), set[int]()
        for tensor_name, tensor in self.tensors.items():
            pairs = zip(tensor.stride(), tensors[tensor_name].stride(), strict=True)
            of_strides |= {new for old, new in pairs if old == value}
            of_counts |= {tensors[tensor_name].numel()} if tensor.numel() == value else set()
        dims = {size for tensor in self.tensors.values() for size in tensor.shape}
        of_sizes = {smaller.get(value, value)} if value in dims else set()
        is_stride = "stride" in name.lower()
        candidates = (
            of_strides if is_stride and of_strides else of_sizes or of_strides
        ) or of_counts
        if len(candidates) == 1:
            return candidates.pop()
        if candidates or any(value % size == 0 for size in smaller):
            raise _Unsure(f"{name} = {value} {_UNSURE}")
        return value

    def _refuse_grid(self, smaller_call: KernelCall) -> None:
        if callable(self.call.grid):
            config = smaller_call.configs[0].all_kwargs() if smaller_call.configs else {}
            if smaller_call.resolve_grid(config) != self.grid:
                raise _Unsure("the grid changes with the size")
            return
        sizes = {size for tensor in self.tensors.values() for size in tensor.shape}
        counts = {*self._covers(), *sizes, *(a * b for a in sizes for b in sizes)}
        counts |= {a * b for a in sizes for b in self._covers()}
        if any(count > 1 and count not in counts for count in self.grid):
            raise _Unsure("the grid is a tuple that cannot be derived from the sizes")


def _comes_of(value: float, size: int) -> bool:
    """Whether a number is made of a size, as that which a sum is divided by."""
    derived = (
        1 / size,
        1 / math.sqrt(size),
        _LOG2_E / math.sqrt(size),
        float(size),
        math.sqrt(size),
    )
    return any(math.isclose(value, one, rel_tol=1e-6) for one in derived)
