"""One model compiled for several sizes into one file, after a trial that padding is harmless."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import torch
from torch.export import Dim

from workbench.compiler.comparison.judgement import Judge, LeafPair, follow
from workbench.compiler.internals import torch_private as tp
from workbench.compiler.package_calls.bucket_sizes import REPEAT, BucketedDim, Bucketing, Pad
from workbench.compiler.packaging.exporting import check_exportable
from workbench.compiler.packaging.outputs import DataClasses
from workbench.compiler.packaging.package_request import Buckets, ModelRequest
from workbench.compiler.packaging.size_trials import of_size
from workbench.compiler.sizes.dims import Dynamic
from workbench.errors import UsageError


def request_every_size(
    request: ModelRequest, wanted: Buckets
) -> tuple[list[ModelRequest], Bucketing]:
    """A request for each size of what `request` asks for, and how calls are padded to these sizes.

    Raises `UsageError` where padding changes the results.
    """
    trial = _PaddedRuns.of(request, wanted)
    bucketing = trial.with_outputs()
    if not wanted.harmless:
        trial.check(bucketing)
    requests = []
    for bucket in bucketing.buckets():
        positional, named = trial.arguments(trial.example(bucket))
        name = "_".join(f"{name}{size}" for name, size in bucket.items())
        shapes = _without(request.dynamic_shapes, bucketing.sizes)
        one = replace(request, args=positional, kwargs=named, name=name, dynamic_shapes=shapes)
        requests.append(replace(one, bucket=bucket))
    return requests, bucketing


@dataclass(frozen=True)
class _PaddedRuns:
    """The original model, called with its example inputs at other sizes."""

    module: torch.nn.Module
    leaves: tuple[Any, ...]
    spec: Any
    bucketing: Bucketing

    @classmethod
    def of(cls, request: ModelRequest, buckets: Buckets) -> _PaddedRuns:
        """Match the sizes with the inputs; raises `UsageError` for what does not fit."""
        subject = check_exportable(request)
        paths = [str(path) for path, _ in subject.inputs.leaves]
        dims = [
            (paths.index(str(path)), index, dim)
            for (path, index), dim in subject.declared.items()
            if dim.name in buckets.sizes
        ]
        sizes = {name: _checked(name, choices, dims) for name, choices in buckets.sizes.items()}
        leaves, spec = tp.TREE_FLATTEN.get()((tuple(request.args), dict(request.kwargs)))
        inputs = tuple(BucketedDim(leaf, i, str(d.name), d.scale, d.offset) for leaf, i, d in dims)
        pad = dict(_pads(buckets.pad, paths, leaves, inputs))
        if buckets.split is not None and buckets.split not in sizes:
            raise UsageError(
                f"split is {buckets.split!r}: name one of the Dims in sizes, {', '.join(sizes)}."
            )
        bucketing = Bucketing(sizes, inputs, (), pad, buckets.split)
        return cls(subject.module, tuple(leaves), spec, bucketing)

    def example(self, values: Mapping[str, int]) -> list[Any]:
        """The example's leaves at other sizes: its entries, repeated as often as needed."""
        leaves = list(self.leaves)
        for dim in self.bucketing.inputs:
            old = leaves[dim.leaf]
            is_last = old.dim() == 4 and not old.is_contiguous()
            order = torch.channels_last if is_last else torch.contiguous_format
            new = of_size(old, dim.index, dim.size(values))
            leaves[dim.leaf] = torch.empty_like(new, memory_format=order).copy_(new)
        return leaves

    def arguments(self, leaves: list[Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Positional and named arguments of these leaves."""
        positional, named = tp.TREE_UNFLATTEN.get()(leaves, self.spec)
        return tuple(positional), dict(named)

    def run(self, leaves: list[Any]) -> list[Any]:
        """The flat outputs of the original."""
        args, kwargs = self.arguments(leaves)
        with torch.no_grad(), DataClasses().as_dicts(self.module):
            outputs: list[Any] = tp.TREE_FLATTEN.get()(self.module(*args, **kwargs))[0]
        return outputs

    def with_outputs(self) -> Bucketing:
        """The bucketing with the dimensions of the outputs that follow the named ones."""
        plain = self.bucketing
        largest = {name: sizes[-1] for name, sizes in plain.sizes.items()}
        base = self.run(self.example(largest))
        dims: list[BucketedDim] = []
        for name, size in largest.items():
            other = size - 1 if size > 1 else size + 1
            moved = self.run(self.example({**largest, name: other}))
            dims.extend(_following(base, moved, name, size, other))
        twice = [(dim.leaf, dim.index) for dim in dims]
        for leaf, index in twice:
            if twice.count((leaf, index)) > 1:
                raise UsageError(
                    f"Dimension {index} of output {leaf} depends on several Dims, so padded "
                    "results cannot be cut. Keep these dimensions separate."
                )
        bucketing = replace(plain, outputs=tuple(dims))
        if plain.split is not None:
            _check_split(bucketing, base)
        return bucketing

    def check(self, bucketing: Bucketing) -> None:
        """Raise `UsageError` where padding or splitting changes the results of the original."""
        for bucket in bucketing.buckets():
            values = {  # the smallest request that runs in it
                name: max((s for s in bucketing.sizes[name] if s < size), default=0) + 1
                for name, size in bucket.items()
            }
            leaves = self.example(values)
            padded = bucketing.padded(leaves, values, bucket)
            actual = bucketing.cut(self.run(padded), values, bucket)

            problem = _describe_difference(partial(self.run, leaves), actual)
            if problem:
                raise UsageError(
                    f"Padding {_text(values)} to {_text(bucket)} changes the results: {problem}. "
                    "Mask the padding, use another pad value, or pass harmless=True if padding "
                    "cannot change the result."
                )


def _checked(
    name: str, choices: Sequence[int], dims: Sequence[tuple[int, int, Dynamic]]
) -> tuple[int, ...]:
    """The sizes of a Dim in order; raises `UsageError`."""
    own = [dim for _, _, dim in dims if dim.name == name]
    if not own:
        raise UsageError(f"sizes names {name!r}, which is not a Dim in dynamic_shapes.")
    sizes = tuple(sorted(set(choices)))
    if not sizes or not all(isinstance(size, int) and size >= 1 for size in sizes):
        raise UsageError(
            f"sizes of {name!r} are {list(choices)}: expected whole numbers, 1 or more."
        )
    low, high = own[0].min, own[0].max
    if (low is not None and sizes[0] < low) or (high is not None and sizes[-1] > high):
        raise UsageError(f"sizes of {name!r} are {list(sizes)}, outside its Dim {own[0].text}.")
    return sizes


def _pads(
    pad: Any, paths: Sequence[str], leaves: Sequence[Any], dims: Sequence[BucketedDim]
) -> Iterator[tuple[int, Pad]]:
    """What fills each leaf that can be padded; raises `UsageError`."""
    places = sorted({dim.leaf for dim in dims})
    by_input = pad if isinstance(pad, Mapping) else {paths[leaf]: pad for leaf in places}
    unknown = [name for name in by_input if name not in [paths[leaf] for leaf in places]]
    if unknown:
        padded = ", ".join(paths[leaf] for leaf in places)
        raise UsageError(f"pad names {unknown[0]!r}; the padded inputs are {padded}.")
    for leaf in places:
        value = by_input.get(paths[leaf], 0)
        dtype = leaves[leaf].dtype
        is_float = dtype.is_floating_point or dtype.is_complex
        fits = value == REPEAT or isinstance(value, int | float if is_float else int)
        if not fits:
            raise UsageError(
                f"The pad value of {paths[leaf]} ({dtype}) is {value!r}: expected a number of "
                f"that type or {REPEAT!r}."
            )
        yield leaf, value


def _following(
    base: Sequence[Any], moved: Sequence[Any], name: str, size: int, other: int
) -> Iterator[BucketedDim]:
    """The dimensions of the outputs that change with one named dimension."""
    for leaf, (a, b) in enumerate(zip(base, moved, strict=True)):
        if not isinstance(a, torch.Tensor):
            continue
        for index, (large, small) in enumerate(zip(a.shape, b.shape, strict=True)):
            scale, rest = divmod(large - small, size - other)
            if rest or scale < 0:
                raise UsageError(
                    f"Dimension {index} of output {leaf} is {large} when {name} is {size} and "
                    f"{small} when it is {other}, so padded results cannot be cut."
                )
            if scale:
                yield BucketedDim(leaf, index, name, scale, large - scale * size)


def _check_split(bucketing: Bucketing, outputs: Sequence[Any]) -> None:
    """Raise `UsageError` unless every input and output falls into parts along `split`."""
    for what, dims in (("input", bucketing.inputs), ("output", bucketing.outputs)):
        if any(dim.offset for dim in dims if dim.name == bucketing.split):
            raise UsageError(
                f"An {what} has a size of {bucketing.split} plus a constant, so it cannot be split."
            )
    joined = {dim.leaf for dim in bucketing.outputs if dim.name == bucketing.split}
    whole = [leaf for leaf, value in enumerate(outputs) if value is not None and leaf not in joined]
    if whole:
        raise UsageError(
            f"No dimension of output {whole[0]} follows {bucketing.split}, so the results of split "
            "requests cannot be joined. Leave split out."
        )


def _name(leaves: Sequence[Any]) -> dict[str, Any]:
    return {f"output {number}": leaf for number, leaf in enumerate(leaves)}


def _describe_difference(run: Callable[[], Sequence[Any]], actual: Sequence[Any]) -> str:
    """Where a flat result differs from what `run` gives, or nothing."""
    by_name = _name(actual)
    pairs = [LeafPair(name, leaf, by_name[name]) for name, leaf in _name(run()).items()]
    for row in Judge(again=follow(lambda: _name(run()))).judge(pairs):
        if row.verdict == "failed":
            how = f": {row.reason}" if row.reason else f" differs by {row.max_abs_error}"
            return f"{row.leaf}{how}"
    return ""


def _without(spec: Any, names: Mapping[str, Any]) -> Any:
    """`dynamic_shapes` with a fixed size in place of every Dim of these names."""
    if isinstance(spec, Mapping):
        return {key: _without(part, names) for key, part in spec.items()}
    if isinstance(spec, list | tuple):
        return type(spec)(_without(part, names) for part in spec)
    root = getattr(spec, "root", spec)
    return Dim.STATIC if getattr(root, "__name__", None) in names else spec


def _text(values: Mapping[str, int]) -> str:
    return ", ".join(f"{name} {size}" for name, size in values.items())
