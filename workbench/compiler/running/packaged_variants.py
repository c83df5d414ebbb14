"""Several variants of one model behind one callable: the first that takes the inputs runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from workbench.artifacts.manifest.package_manifest import PackagedModel
from workbench.artifacts.preflight.package_preflight import VariantFit
from workbench.compiler.running.input_checks import CallContract
from workbench.compiler.running.loaded import LoadedModel, convert_error
from workbench.compiler.running.signature import CallSignature
from workbench.errors import ContractError


@dataclass(frozen=True)
class VariantChoice:
    """The variant that runs a call, and why it and not one before it in the order."""

    name: str
    why: str


def find_only_variant(name: str, fits: Sequence[VariantFit]) -> VariantChoice:
    """The variant that runs every call of a package: it was named, or no other one fits."""
    mine = next(fit for fit in fits if fit.name == name)
    others = any(fit.fits for fit in fits if fit.name != name)
    how = "named when it was loaded" if others else "the only one that this machine can run"
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
