"""One model of a package, ready to be called: container, check, weights, places to run in."""

from __future__ import annotations

import hashlib
import mmap
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path
from threading import Event, Lock, Thread
from typing import TYPE_CHECKING, Any
from weakref import ref

import torch
from torch.compiler import is_compiling

import workbench.load_steps as load_steps
from workbench.artifacts.archive.package_container import OpenedPackage
from workbench.artifacts.manifest.package_manifest import PackagedConstant, PackagedModel
from workbench.compiler.contract.contract import list_problems
from workbench.compiler.internals import torch_private as tp
from workbench.compiler.internals.local_device import find_current_gpu, has_gpu, wait_for_gpu
from workbench.compiler.internals.tensor_like import TensorLike
from workbench.compiler.running.container import (
    BINDING_NOTE,
    BindingContainer,
    Container,
    NativeContainer,
)
from workbench.compiler.running.model_files import Unpacking
from workbench.compiler.running.slots import Slots
from workbench.device_kinds import CPU, is_gpu
from workbench.errors import (
    ArtifactError,
    ContractError,
    UsageError,
    WorkbenchError,
    wrap_failed_call,
)
from workbench.live_only import CompiledCode, LivePart
from workbench.number_text import plural

if TYPE_CHECKING:
    from workbench.compiler.package_calls.call_check import CallContract
    from workbench.compiler.package_calls.signature import CallSignature


class LoadedModel(CompiledCode):
    """A compiled model in this process, called like the original.

    `notes` says what is different from what one would expect.
    """

    instead = "Load its package in the process that needs it."

    def __init__(
        self,
        package: OpenedPackage,
        model: PackagedModel,
        unpacking: Unpacking,
        *,
        runners: int,
        check: bool,
    ) -> None:
        self.model = model
        self._unpacking = unpacking  # on a GPU kernels are read from the folder later
        self.notes: list[str] = []
        self._refused: WorkbenchError | None = None
        runners = self._usable(runners)
        try:
            self.device = _device(model)
            load_steps.begin(load_steps.UNPACK)
            library = unpacking.library()
            load_steps.begin(load_steps.DLOPEN)
            with ThreadPoolExecutor(1) as beside:
                started = beside.submit(self._started, library, runners)
                # the library copies its weights without Python, which meanwhile gets the check
                self.contract = _contract(model, self.device)
                self._container: Container = started.result()
            if not model.in_spec:  # a package of torch says it in the library alone
                ins, outs = self._container.specs
                self.model = replace(model, in_spec=ins, out_spec=outs)
            self._slots = Slots(runners)
            load_steps.begin(load_steps.REBUILD)
            self.weights = self._weights(package)
        except BaseException:
            unpacking.remove()
            raise
        if self.device.type == "cpu":
            unpacking.remove()  # the library is open
        load_steps.begin(load_steps.GUARDS)
        from workbench.compiler.package_calls.call_check import build_call

        run = self._running()
        self._checked_call = build_call(self.signature, self.contract, run, check=check)
        is_whole = not self.weights.missing
        self._call = self._checked_call if is_whole else _refuse_without_weights(model.name)
        self._hash = self._hashing(package)

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        """Run the model on inputs that fit what was compiled.

        Where another compilation traces the call, it is a graph break there.
        """
        if is_compiling():
            return call_opaquely(self._call, args, kwargs)
        try:
            return self._call(*args, **kwargs)
        except WorkbenchError:
            raise
        except Exception as error:
            raise convert_error(error, self, args, kwargs) from error

    @property
    def __name__(self) -> str:
        """The name of the model, for whatever takes a function."""
        return self.model.name

    @property
    def signature(self) -> CallSignature:
        """The parameters of what was compiled."""
        from workbench.compiler.package_calls.signature import CallSignature

        return CallSignature.of(self.model)

    @property
    def runners(self) -> int:
        """How many calls run at once; more wait."""
        return self._slots.count

    def _usable(self, runners: int) -> int:
        if any(constant.mutated for constant in self.model.constants) and runners > 1:
            self.notes.append(
                "it writes to its buffers, which all runners share, so calls run one at a time"
            )
            return 1
        return runners

    def _started(self, library: Path, runners: int) -> Container:
        if self.model.needs_proxy:
            self.notes.append(BINDING_NOTE)
            return BindingContainer(library, runners=runners, device=str(self.device))
        return NativeContainer(
            library, runners=runners, device=str(self.device), on_gpu=is_gpu(self.device)
        )

    def _weights(self, package: OpenedPackage) -> Weights:
        rows = {constant.name: constant for constant in self.model.constants}
        mapped = map_constants(package, self.model.constants)
        own = self.model.weights == "inside"
        if own and not rows:
            rows = _rows_of(self._container)
        weights = Weights(self.model.name, rows, self._container, self._slots, self.device)
        if own:
            weights.keep_own()
            return weights
        weights.start({name: tensor.to(self.device) for name, tensor in mapped.items()})
        return weights

    def _hashing(self, package: OpenedPackage) -> BackgroundHash | None:
        """Whoever compares the mapped weights with their hash meanwhile; what differs is told."""
        members = {c.member for c in self.model.constants if c.member is not None}
        if not members or package.manifest is None:
            return None
        here = ref(self)  # the thread and what it tells would be in a circle with the weights

        def refuse(error: WorkbenchError) -> None:
            if (model := here()) is not None:
                model._refuse(error)

        return BackgroundHash(package, sorted(members), refuse)

    def _running(self) -> Callable[[list[Any]], Any]:
        """One run in a place of its own, its outputs nested."""
        from workbench.compiler.package_calls.signature import build_outputs

        take, give, container = self._slots.take, self._slots.give, self._container
        build = build_outputs(self.model)

        def running(tensors: list[Any]) -> Any:
            slot = take()
            try:
                outputs = container.run(tensors)
            finally:
                give(slot)
            return build(outputs)

        return running

    def run_flat(self, tensors: list[torch.Tensor]) -> list[Any]:
        """What the library itself returns for the tensors that it takes, in its order, unchecked.

        Raises `UsageError` while the model has no weights.
        """
        if self._refused is not None:
            raise self._refused
        if self.weights.missing:
            _refuse_without_weights(self.model.name)()
        slot = self._slots.take()
        try:
            return self._container.run(list(tensors))
        finally:
            self._slots.give(slot)

    def run_tensors(self, tensors: Sequence[torch.Tensor]) -> list[torch.Tensor | None]:
        """What the library returns for the tensors that it takes, in its order, after the check.

        Each is put in memory as the library wants it first: whoever got it over a wire has it in
        row-major order. Raises `ContractError`, and `UsageError` for a package of torch or while
        the model has no weights.
        """
        if self.contract is None:
            raise UsageError(
                "The package has no input contract, because torch itself wrote it. Make it with "
                "wb.package."
            )
        from workbench.compiler.contract.contract import laid_out

        leaves = tuple(self.contract.leaves[place] for place in self.contract.tensors)
        if len(leaves) != len(tensors):
            raise ContractError(
                f"{self.model.name} takes {plural(len(leaves), 'tensor')}, not {len(tensors)}."
            )
        arguments = [laid_out(leaf, tensor) for leaf, tensor in zip(leaves, tensors, strict=True)]
        return self.run_flat(replace(self.contract, leaves=leaves).examine(arguments))

    def _refuse(self, error: WorkbenchError) -> None:
        """From now on every call raises."""

        def refused(*args: Any, **kwargs: Any) -> Any:
            raise error

        self._refused = error
        self._checked_call = self._call = refused

    def update_weights(self, state: Any, *, partial: bool = False) -> None:
        """Swap in new weights; see `Package.update_weights`."""
        self.weights.update(state, partial=partial)
        self._call = self._checked_call

    def verified(self) -> None:
        """Wait until everything is compared with its hash; raises `ArtifactError`."""
        if self._hash is not None:
            self._hash.wait()

    def close(self) -> None:
        """Wait for running calls, then free the model; later calls raise `UsageError`."""
        if self._hash is not None:
            self._hash.stop()
        self.weights.close()


def _refuse_without_weights(name: str) -> Callable[..., Any]:
    """In place of a call: a method of the model would be a circle that keeps its memory."""

    def refuse(*args: Any, **kwargs: Any) -> Any:
        raise UsageError(
            f"{name} was packaged without its weights. Set them first: "
            "package.update_weights(model.state_dict())."
        )

    return refuse


def call_opaquely(call: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    """A call into a package, at which whatever traces stops with the reason."""
    return call(*args, **kwargs)


# as `torch.compiler.disable` does, which would import Dynamo into a process that only serves
vars(call_opaquely).update(
    zip(
        tp.DISABLED,
        (True, "a package holds only compiled code, without the eager model"),
        strict=True,
    )
)


def convert_error(
    error: Exception, model: Any, args: Sequence[Any], kwargs: Mapping[str, Any]
) -> WorkbenchError:
    """What to raise for an error of a call: a TypeError of the call itself is of the signature."""
    from workbench.compiler.internals.surroundings import surroundings

    inside = error.__traceback__ is not None and error.__traceback__.tb_next is not None
    if not inside and model.signature is not None and isinstance(error, TypeError):
        return ContractError(f"{error}. The signature is {model.signature.text}.")
    name = "model" if model.signature is None else model.signature.model
    around = list(surroundings(name, (*args, *kwargs.values())))
    return (
        ContractError("\n".join(f"{o}." for o in around))
        if around
        else wrap_failed_call(name, error)
    )


def _contract(model: PackagedModel, device: torch.device) -> CallContract | None:
    """What a call has to be; a package of torch does not say it."""
    from workbench.compiler.package_calls.call_check import CallContract

    return CallContract.of(model.name, model.contract, device) if model.contract else None


def _device(model: PackagedModel) -> torch.device:
    device = torch.device(model.device)
    if device.type == CPU:
        return device
    if not (is_gpu(device) and has_gpu()):
        raise ArtifactError(
            f"{model.name} was compiled for {model.device}, which this machine does not have."
        )
    return find_current_gpu()


def _rows_of(container: Container) -> dict[str, PackagedConstant]:
    """What the library of torch's own package says about its weights."""
    tensors = container.current()
    return {
        constant.name: PackagedConstant(
            name=constant.name,
            fqn=constant.fqn,
            shape=tuple(tensors[constant.name].shape),
            stride=tuple(tensors[constant.name].stride()),
            dtype=str(tensors[constant.name].dtype).removeprefix("torch."),
            size=tensors[constant.name].nbytes,
            kind=CONSTANT if constant.fixed else "parameter",
        )
        for constant in container.constants
        if constant.name in tensors
    }


_CHUNK = 4 << 20
_HEAD_START_S = 0.25  # the first call, most often right after loading, has the processor to itself


def map_constants(
    package: OpenedPackage, constants: Iterable[PackagedConstant]
) -> dict[str, torch.Tensor]:
    """Tensors over the bytes in the file, by the library's names; nothing is read yet.

    The mapping is private: what a library writes into a buffer stays in memory. A file that is
    shortened while it is mapped ends the process at the next access, as with every mapping:
    replace packages, do not overwrite them.
    """
    maps: dict[str, tuple[mmap.mmap, int]] = {}
    by_name: dict[str, torch.Tensor] = {}
    for constant in constants:
        if constant.member is None:
            continue
        if constant.member not in maps:
            maps[constant.member] = _mapped(package, constant.member)
        by_name[constant.name] = _tensor(constant, *maps[constant.member])
    return by_name


def _mapped(package: OpenedPackage, member: str) -> tuple[mmap.mmap, int]:
    """A private mapping of a member, and where in it the member starts."""
    offset = package.offset(member)
    start = offset - offset % mmap.ALLOCATIONGRANULARITY
    size = offset - start + package.size(member)
    if package.size(member) == 0:
        return mmap.mmap(-1, 1), 0
    try:
        mapping = mmap.mmap(package.file.fileno(), size, access=mmap.ACCESS_COPY, offset=start)
    except (OSError, ValueError) as error:
        raise ArtifactError(
            f"The weights in the package cannot be mapped ({error}). Copy the file to a local disk."
        ) from error
    return mapping, offset - start


def _tensor(constant: PackagedConstant, content: mmap.mmap, start: int) -> torch.Tensor:
    dtype = getattr(torch, constant.dtype)
    if constant.size == 0:
        return TensorLike(constant.shape, constant.stride, dtype).empty()
    place, count = start + constant.offset, constant.size // dtype.itemsize
    if _reach(constant) > count:
        raise ArtifactError(
            f"The package is damaged: {constant.fqn} does not fit in its {constant.size} bytes. "
            "Get the file again."
        )
    if place % dtype.itemsize:
        copied = torch.frombuffer(bytearray(content[place : place + constant.size]), dtype=dtype)
        return copied.as_strided(constant.shape, constant.stride)
    flat = torch.frombuffer(content, dtype=dtype, count=count, offset=place)
    return flat.as_strided(constant.shape, constant.stride)


def _reach(constant: PackagedConstant) -> int:
    """How many elements from the first one the tensor spans."""
    if any(stride < 0 for stride in constant.stride) or 0 in constant.shape:
        return 0 if 0 in constant.shape else 1 << 62
    return 1 + sum((n - 1) * s for n, s in zip(constant.shape, constant.stride, strict=True))


class BackgroundHash:
    """Hashes members of an open package in a thread; a difference is told once.

    It starts after a moment, or as soon as somebody waits for it. It reads the file itself, not
    the mapping: what a library has written in memory is its own.
    """

    def __init__(
        self,
        package: OpenedPackage,
        members: Iterable[str],
        tell: Callable[[ArtifactError], None],
    ) -> None:
        self._stop, self._begin = Event(), Event()
        self._tell = tell
        self._error: ArtifactError | None = None
        facts = {n: (package.offset(n), package.size(n), package.hash_of(n)) for n in members}
        handle = os.dup(package.file.fileno())
        self._thread = Thread(
            target=self._run, args=(handle, facts), name="hash of a package", daemon=True
        )
        self._thread.start()

    def _run(self, handle: int, facts: Mapping[str, tuple[int, int, str | None]]) -> None:
        self._begin.wait(_HEAD_START_S)
        try:
            for name, (offset, size, expected) in facts.items():
                digest = self._hash(handle, offset, size)
                if digest is not None and digest != expected:
                    self._error = ArtifactError(
                        f"The package is damaged: {name} has the wrong hash. "
                        "Results that used it may be wrong. Get the file again."
                    )
                    self._tell(self._error)
                    return
        finally:
            os.close(handle)

    def _hash(self, handle: int, offset: int, size: int) -> str | None:
        """The hash of a stretch of the file; None when told to stop."""
        digest: Any = hashlib.sha256()
        end = offset + size
        while offset < end and (chunk := os.pread(handle, min(_CHUNK, end - offset), offset)):
            if self._stop.is_set():
                return None
            digest.update(chunk)
            offset += len(chunk)
        return str(digest.hexdigest())

    def wait(self) -> None:
        """Until all is compared; raises `ArtifactError` when something differs."""
        self._begin.set()
        self._thread.join()
        if self._error is not None:
            raise self._error

    def stop(self) -> None:
        """End the thread early."""
        self._stop.set()
        self._begin.set()
        self._thread.join()


CONSTANT, BUFFER = "constant", "buffer"


@dataclass(eq=False)
class Weights(LivePart):
    """All weights of one model, in two sets: one is filled while the other is in use.

    A call sees one set from its start to its end. Between two sets it waits for the calls that
    run, for the time of a pointer swap. `rows` are its constants by the library's names.
    """

    model: str
    rows: Mapping[str, PackagedConstant]
    container: Container
    slots: Slots
    device: torch.device
    _lock: Lock = field(default_factory=Lock)
    _now: dict[str, torch.Tensor] = field(default_factory=dict)

    @property
    def names(self) -> tuple[str, ...]:
        """The names in the module of what can be replaced."""
        return tuple(row.fqn for row in self.rows.values() if row.kind != CONSTANT)

    @property
    def missing(self) -> list[str]:
        """The names of what the library needs and nobody has given yet."""
        return [row.fqn for name, row in self.rows.items() if name not in self._now]

    def keep_own(self) -> None:
        """Use what the library itself holds."""
        self.container.fold(inactive=False)
        self._now = self.container.current()

    def start(self, tensors: Mapping[str, torch.Tensor]) -> None:
        """Hand over the first weights, which nobody can be using yet; some may come later."""
        self._now = dict(tensors)
        if not self.missing:
            self.container.set_weights(self._now, inactive=False)
            self.container.fold(inactive=False)

    def update(self, state: Any, *, partial: bool) -> None:
        """Swap in new weights; raises `UsageError` naming each one that does not fit."""
        weights = _read_state(state)
        with self._lock:
            self.slots.require_open()
            fresh = self._checked(weights, partial=partial)
            everything = {**self._now, **fresh}
            if lacks := self.rows.keys() - everything.keys():
                raise UsageError(
                    f"{self.model} was packaged without {', '.join(sorted(lacks))}, which no "
                    "state_dict contains. Package it again."
                )
            if self._now.keys() != self.rows.keys():  # the file held none: nothing was called
                self.container.set_weights(everything, inactive=False)
                self.container.fold(inactive=False)
            else:
                self._swap(everything)
            self._now = everything

    def close(self) -> None:
        """Wait for running calls and for new weights on their way, then free the model."""
        with self._lock:
            self.slots.close(self.container.close)

    def _swap(self, everything: dict[str, torch.Tensor]) -> None:
        container = self.container
        container.set_weights(everything, inactive=True)
        if not any(constant.folded for constant in container.constants):
            container.fold(inactive=True)  # only says that there is nothing to compute
            with self.slots.all():
                container.swap()
        else:
            with self.slots.all():
                self._fold_and_swap()
        if is_gpu(self.device):
            wait_for_gpu(self.device)
        replaced = all(everything[name] is not tensor for name, tensor in self._now.items())
        container.forget_inactive(all_replaced=replaced)

    def _fold_and_swap(self) -> None:
        try:
            self.container.fold(inactive=True)
        except BaseException:
            # a runner is left with the new weights: swapping there and back sets all of them
            self.container.swap()
            self.container.swap()
            raise
        self.container.swap()

    def _checked(
        self, weights: Mapping[str, torch.Tensor], *, partial: bool
    ) -> dict[str, torch.Tensor]:
        problems: list[str] = []
        fresh: dict[str, torch.Tensor] = {}
        all_names: set[str] = set()
        for name, row in self.rows.items():
            if row.kind == CONSTANT:
                continue
            names = (row.fqn, *row.aliases)
            all_names.update(names)
            values = {n: weights[n] for n in names if n in weights}
            if not values:
                if not partial and not (row.kind == BUFFER and name in self._now):
                    problems.append(f"{row.fqn}: it is missing")
                continue
            problems.extend(_problems(row, values))
            fresh[name] = next(iter(values.values()))
        if partial:
            problems += [
                f"{n}: the model has no such weight" for n in weights if n not in all_names
            ]
        if problems:
            raise UsageError(
                f"These weights do not fit {self.model}, and nothing was changed:\n"
                f"{list_problems(problems)}"
            )
        likes = {n: TensorLike.named(r.shape, r.stride, r.dtype) for n, r in self.rows.items()}
        # in memory of their own, laid out as the library expects
        return {n: likes[n].empty(self.device).copy_(v.detach()) for n, v in fresh.items()}


def _read_state(state: Any) -> dict[str, torch.Tensor]:
    """The tensors of a state_dict or of a module, whose tied and unsaved ones count too."""
    if isinstance(state, torch.nn.Module):
        named: Callable[..., Any] = state.named_parameters
        return {
            **dict(named(remove_duplicate=False)),
            **dict(state.named_buffers(remove_duplicate=False)),
        }
    if not isinstance(state, Mapping):
        raise UsageError(
            f"update_weights takes a state_dict or a module, not a {type(state).__name__}."
        )
    wrong = [name for name, value in state.items() if not isinstance(value, torch.Tensor)]
    if wrong:
        raise UsageError(f"update_weights takes tensors, but {wrong[0]} is not one.")
    return dict(state)


def _problems(row: PackagedConstant, values: Mapping[str, torch.Tensor]) -> Iterator[str]:
    for name, value in values.items():
        shape, dtype = list(value.shape), str(value.dtype).removeprefix("torch.")
        if (tuple(shape), dtype) != (row.shape, row.dtype):
            yield f"{name}: expected {row.dtype} {list(row.shape)}, got {dtype} {shape}"
            return
    (first, value), *others = values.items()
    for name, other in others:
        same = other.data_ptr() == value.data_ptr() or torch.equal(other, value)
        if not same:
            yield f"{name}: it is the same tensor as {first}, but two different tensors were given"
