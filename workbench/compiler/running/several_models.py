"""Several models behind one callable: one of several sizes, padded and cut, or a variant."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Condition
from typing import Any

import torch

from workbench.artifacts.manifest.package_manifest import PackagedModel, PackageManifest
from workbench.artifacts.preflight.package_preflight import VariantFit
from workbench.compiler.contract.contract import list_problems
from workbench.compiler.internals.tensor_kind import explain_kind
from workbench.compiler.package_calls.bucket_sizes import BucketedDim, Bucketing
from workbench.compiler.package_calls.call_check import CallContract
from workbench.compiler.package_calls.signature import CallSignature, build_outputs
from workbench.compiler.running.loaded import LoadedModel, convert_error
from workbench.errors import ArtifactError, ContractError
from workbench.live_only import LiveOnly

Values = Mapping[str, int]


class Bucketed(LiveOnly):
    """What a package of several sizes is called by.

    Each request runs in the smallest compiled size that holds it; its inputs are padded to that
    size, its outputs cut to the size of the request.
    """

    def __init__(
        self, manifest: PackageManifest, load: Callable[[str], LoadedModel], *, check: bool
    ) -> None:
        self.bucketing = Bucketing.from_json(manifest.bucketing or {})
        model = manifest.models[0]
        self.signature = CallSignature.of(model)
        self._load = load
        self._check = check
        self._names = {_key(model.bucket or {}): model.name for model in manifest.models}
        contract = CallContract.of(model.name, model.contract, torch.device("cpu"))
        self._paths = [str(leaf.path) for leaf in contract.leaves]
        self._build = build_outputs(model)
        self._gate = _Gate()
        self._check_places(manifest)

    def _check_places(self, manifest: PackageManifest) -> None:
        """Raise `ArtifactError` unless every size has a model and every dimension a leaf."""
        sizes = {_key(bucket) for bucket in self.bucketing.buckets()}
        inputs = {dim.leaf for dim in self.bucketing.inputs}
        outputs = {dim.leaf for dim in self.bucketing.outputs}
        named = {dim.name for dim in self.bucketing.inputs} == self.bucketing.sizes.keys()
        counts = len(self._paths), len(manifest.models[0].outputs)
        placed = inputs <= set(range(counts[0])) and outputs <= set(range(counts[1]))
        if sizes != self._names.keys() or not named or not placed:
            raise ArtifactError(
                "The package is damaged: the description of its sizes is missing. Make it again."
            )

    def _call(self, /, *args: Any, **kwargs: Any) -> Any:
        leaves = self.signature.leaves(args, kwargs)
        values = self._values(leaves)
        bucket = self.bucketing.fitting(values)
        if bucket is None:
            return self._build(self._in_parts(leaves, values))
        if bucket == values:
            return self._model(bucket)(*args, **kwargs)
        return self._build(self._run(leaves, values, bucket))

    def _model(self, bucket: Values) -> LoadedModel:
        return self._load(self._names[_key(bucket)])

    def _run(self, leaves: Sequence[Any], values: Values, bucket: Values) -> list[Any]:
        """The flat outputs of a request that the bucket holds."""
        model = self._model(bucket)
        padded = self.bucketing.padded(leaves, values, bucket)
        contract = model.contract
        if self._check and contract is not None:
            padded = contract.examine(padded)
        places = range(len(self._paths)) if contract is None else contract.tensors
        outputs = model.run_flat([padded[place] for place in places])
        return self.bucketing.cut(outputs, values, bucket)

    def _values(self, leaves: Sequence[Any]) -> dict[str, int]:
        """The named dimensions of a request; raises `ContractError` naming what does not fit."""
        values: dict[str, tuple[int, str]] = {}
        problems = []
        for dim in self.bucketing.inputs:
            where = f"{self._paths[dim.leaf]} dimension {dim.index}"
            value = _value(dim, leaves[dim.leaf])
            if isinstance(value, str):
                problems.append(f"{self._paths[dim.leaf]}: {value}")
                continue
            first = values.setdefault(dim.name, (value, where))
            if first[0] != value:
                problems.append(
                    f"{where} makes {dim.name} {value}, but {first[1]} makes it {first[0]}"
                )
        if problems:
            raise ContractError(
                "The package was called with inputs that do not fit what was compiled:\n"
                + list_problems(problems)
            )
        return {name: value for name, (value, _) in values.items()}

    def _in_parts(self, leaves: Sequence[Any], values: Values) -> list[Any]:
        """The flat outputs of a request that no bucket holds, run in several."""
        split = self.bucketing.split
        too_large = [n for n, sizes in self.bucketing.sizes.items() if values[n] > sizes[-1]]
        if split is None or too_large != [split]:
            raise ContractError(self._oversize(values, too_large))
        step = self.bucketing.sizes[split][-1]
        with self._gate.passed():
            parts = []
            for start in range(0, values[split], step):
                part = {**values, split: min(step, values[split] - start)}
                bucket = self.bucketing.fitting(part)
                assert bucket is not None  # only the split dimension was too large
                parts.append(self._run(self._piece(leaves, start, part), part, bucket))
        dims = {dim.leaf: dim.index for dim in self.bucketing.outputs if dim.name == split}
        return [
            torch.cat([part[leaf] for part in parts], dims[leaf])
            if leaf in dims
            else parts[0][leaf]
            for leaf in range(len(parts[0]))
        ]

    def _piece(self, leaves: Sequence[Any], start: int, values: Values) -> list[Any]:
        parts = list(leaves)
        for dim in self.bucketing.inputs:
            if dim.name == self.bucketing.split:
                whole = parts[dim.leaf]
                piece = whole.narrow(dim.index, dim.scale * start, dim.size(values))
                parts[dim.leaf] = torch.empty_like(piece).copy_(piece)  # dense again
        return parts

    def _oversize(self, values: Values, names: Sequence[str]) -> str:
        sizes = self.bucketing.sizes
        excess = "; ".join(
            f"{name} is {values[name]}, but compiled sizes are {', '.join(map(str, sizes[name]))}"
            for name in names
        )
        advice = "package a larger size"
        if len(sizes) == 1:
            advice += f", send smaller requests, or package it with split={names[0]!r}"
        return f"The request is larger than every compiled size: {excess}. Instead, {advice}."

    def update_weights(self, state: Any, *, partial: bool) -> None:
        """Swap the weights of every size; a request sees the old ones or the new ones."""
        models = [self._load(name) for name in self._names.values()]
        with self._gate.closed():
            for model in models:
                model.update_weights(state, partial=partial)


def _key(bucket: Values) -> tuple[tuple[str, int], ...]:
    return tuple(sorted(bucket.items()))


def _value(dim: BucketedDim, leaf: Any) -> int | str:
    """The named dimension that a leaf has, or what is wrong with the leaf."""
    if not isinstance(leaf, torch.Tensor):
        return f"expected a tensor, got {type(leaf).__name__}"
    if (problem := explain_kind(leaf)) is not None:
        return problem
    if leaf.dim() <= dim.index:
        return f"expected a dimension {dim.index}, got shape {list(leaf.shape)}"
    size = leaf.shape[dim.index]
    value, rest = divmod(size - dim.offset, dim.scale)
    if rest or value < 1:
        return f"dimension {dim.index} is {size}, which does not match any {dim.name} of 1 or more"
    return value


class _Gate:
    """Requests in parts pass together; whoever closes the gate waits until they are through."""

    def __init__(self) -> None:
        self._changed = Condition()
        self._inside = 0
        self._is_closed = False

    @contextmanager
    def passed(self) -> Iterator[None]:
        """Be inside, waiting while the gate is closed."""
        with self._changed:
            self._changed.wait_for(lambda: not self._is_closed)
            self._inside += 1
        try:
            yield
        finally:
            with self._changed:
                self._inside -= 1
                self._changed.notify_all()

    @contextmanager
    def closed(self) -> Iterator[None]:
        """Nobody is inside."""
        with self._changed:
            self._changed.wait_for(lambda: not self._is_closed)
            self._is_closed = True
            self._changed.wait_for(lambda: self._inside == 0)
        try:
            yield
        finally:
            with self._changed:
                self._is_closed = False
                self._changed.notify_all()


# variants: the first that takes the inputs runs


@dataclass(frozen=True)
class VariantChoice:
    """The variant that runs a call, and why it and not one before it in the order."""

    name: str
    why: str


def find_only_variant(name: str, fits: Sequence[VariantFit]) -> VariantChoice:
    """The variant that runs every call of a package: it was named, or no other one fits."""
    mine = next(fit for fit in fits if fit.name == name)
    others = any(fit.fits for fit in fits if fit.name != name)
    how = "chosen by name at load" if others else "the only one that this machine can run"
    return VariantChoice(name, f"{mine.made_for}: {how}")


class PackagedVariants:
    """What a package of several variants is called by, where more than one fits the machine.

    They are tried in the order of `fits`; one that was not used yet is loaded once a call fits its
    contract. With `check=False` only the choice looks at the inputs.
    """

    def __init__(
        self,
        models: Sequence[PackagedModel],
        fits: Sequence[VariantFit],
        load: Callable[[str], LoadedModel],
        *,
        check: bool,
    ) -> None:
        self._fits = tuple(fits)
        self._models = {model.name: model for model in models}
        self._load = load
        self._check = check
        self._loaded: dict[str, LoadedModel] = {}
        self._contracts: dict[str, CallContract] = {}
        self.signature = CallSignature.of(self._models[self._fits[0].name])

    def _call(self, /, *args: Any, **kwargs: Any) -> Any:
        problems: dict[str, str] = {}
        for fit in self._fits:
            loaded = self._loaded.get(fit.name)
            if loaded is None or not self._check:
                problem = self._problem(fit.name, args, kwargs)
                if problem is not None:
                    problems[fit.name] = problem
                    continue
                loaded = self._loaded[fit.name] = self._load(fit.name)
            try:
                return loaded._call(*args, **kwargs)
            except ContractError as error:
                problems[fit.name] = str(error)
            except TypeError as error:
                raise convert_error(error, loaded, args, kwargs) from error
        raise ContractError(_refusal(problems))

    def choice(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> VariantChoice:
        """The variant that would run a call; raises `ContractError` where none takes it."""
        problems: dict[str, str] = {}
        for fit in self._fits:
            problem = self._problem(fit.name, args, kwargs)
            if problem is None:
                others = "".join(f"; {name} does not take these inputs" for name in problems)
                return VariantChoice(fit.name, f"{fit.made_for}: {fit.why}{others}")
            problems[fit.name] = problem
        raise ContractError(_refusal(problems))

    def _problem(self, name: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> str | None:
        """Why a variant does not take these inputs, None where it does."""
        leaves = self.signature.leaves(tuple(args), dict(kwargs))
        if name not in self._contracts:
            model = self._models[name]
            device = torch.device(model.device)
            self._contracts[name] = CallContract.of(name, model.contract, device)
        try:
            self._contracts[name].examine(leaves)
        except ContractError as error:
            return str(error)
        return None

    def update_weights(self, state: Any, *, partial: bool) -> None:
        """Swap the weights of every variant that fits the machine, one after the other."""
        for fit in self._fits:
            self._load(fit.name).update_weights(state, partial=partial)


def _refusal(problems: Mapping[str, str]) -> str:
    parts = "\n".join(problems.values())
    return f"No variant of the package takes these inputs:\n{parts}"
