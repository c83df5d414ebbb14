"""One model of a package, ready to be called: container, check, weights, places to run in."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any
from weakref import ref

import torch
from torch.compiler import is_compiling

import workbench.load_steps as load_steps
from workbench.artifacts.archive.package_container import OpenedPackage
from workbench.artifacts.manifest.package_manifest import PackagedConstant, PackagedModel
from workbench.compiler.internals import torch_private as tp
from workbench.compiler.internals.local_device import find_current_gpu, has_gpu
from workbench.compiler.running.container import (
    BINDING_NOTE,
    BindingContainer,
    Container,
    NativeContainer,
)
from workbench.compiler.running.mapped import BackgroundHash, map_constants
from workbench.compiler.running.model_files import Unpacking
from workbench.compiler.running.slots import Slots
from workbench.compiler.running.weight_swap import CONSTANT, Weights
from workbench.device_kinds import CPU, is_gpu
from workbench.errors import (
    ArtifactError,
    ContractError,
    UsageError,
    WorkbenchError,
    wrap_failed_call,
)
from workbench.live_only import CompiledCode
from workbench.number_text import plural

if TYPE_CHECKING:
    from workbench.compiler.package_calls.call_check import CallContract
    from workbench.compiler.package_calls.signature import CallSignature


class LoadedModel(CompiledCode):
    """A compiled model in this process, called like the original.

    `notes` says what is different from what one would expect.
    """

    instead = "Load its package where it is needed."

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
                "it writes into its buffers, which all runners share: calls run one at a time"
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
                "The package holds no input contract: torch itself wrote it. Make it with "
                "wb.package."
            )
        from workbench.compiler.contract.contract import laid_out

        leaves = tuple(self.contract.leaves[place] for place in self.contract.tensors)
        if len(leaves) != len(tensors):
            raise ContractError(
                f"{self.model.name} takes {plural(len(leaves), 'tensor')}, not {len(tensors)}."
            )
        given = [laid_out(leaf, tensor) for leaf, tensor in zip(leaves, tensors, strict=True)]
        return self.run_flat(replace(self.contract, leaves=leaves).examine(given))

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
            f"{name} was packaged without its weights: give them first, "
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
        (True, "a package holds compiled code alone, without its original"),
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
