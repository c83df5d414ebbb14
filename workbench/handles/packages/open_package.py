"""A package in this process: called like the model that was compiled, from several threads."""

from __future__ import annotations

import os
from threading import Lock
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self
from weakref import finalize, ref

from torch.compiler import is_compiling

from workbench.arguments import checked
from workbench.artifacts.archive.package_container import decode_report
from workbench.artifacts.manifest.package_manifest import PackagedModel
from workbench.compiler.running.loaded import LoadedModel, call_opaquely, convert_error
from workbench.compiler.running.model_files import CLOSED, Unpacking
from workbench.errors import ArtifactError, UsageError, WorkbenchError
from workbench.live_only import CompiledCode
from workbench.report.report_holder import ReportHolder

if TYPE_CHECKING:  # imported when needed: a package starts in milliseconds
    from workbench.artifacts.preflight.package_preflight import VariantFit
    from workbench.compiler.running.several_models import Bucketed, PackagedVariants, VariantChoice
    from workbench.handles.packages.package_parts import PackageParts
    from workbench.report import Report


class OpenPackage(CompiledCode, ReportHolder):
    """Load and call the models of a package; see `Package`."""

    instead = "Load the file in the process that needs the package."

    def __init__(self, parts: PackageParts) -> None:
        manifest, variant = parts.manifest, parts.variant
        self._opened = parts.opened
        finalize(self, parts.opened.file.close)
        self._runners = parts.runners
        self._check = parts.check
        self._unpacking = parts.unpacking
        self._lock = Lock()
        self._loaded: dict[str, LoadedModel] = {}
        self._record: Report | None = None
        self._said: dict[str, tuple[str, ...]] = {}  # the notes of the models' compilations
        self.manifest = manifest
        self.path = parts.path
        self.originals: dict[str, Any] = {}
        self.variants = parts.fits
        self._variant = variant
        self._only: LoadedModel | Bucketed | PackagedVariants | _Several = _Several(self.names)
        if parts.refusal is not None:
            self._only = _Several(self.names, parts.refusal)
        elif manifest.bucketing is not None:
            from workbench.compiler.running.several_models import Bucketed

            here = ref(self)
            self._only = Bucketed(manifest, lambda name: _model_of(here(), name), check=parts.check)
        elif manifest.are_variants and variant is None:
            self._only = self._several_variants()
        elif len(self.names) == 1 or variant is not None:
            self._only = self[variant or self.names[0]]

    def _several_variants(self) -> PackagedVariants:
        from workbench.compiler.running.several_models import PackagedVariants

        here, usable = ref(self), [fit for fit in self.variants if fit.fits]
        load = lambda name: _model_of(here(), name)  # noqa: E731
        return PackagedVariants(self.manifest.models, usable, load, check=self._check)

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        """Run the only model on inputs that fit the contract; otherwise raises `ContractError`.

        If another compilation traces the call, it is a graph break there.
        """
        if is_compiling():
            return call_opaquely(self._only._call, args, kwargs)
        try:
            return self._only._call(*args, **kwargs)
        except WorkbenchError:
            raise
        except Exception as error:
            raise convert_error(error, self._only, args, kwargs) from error

    @property
    def __name__(self) -> str:
        """The name of its first model, as callers expect of a function."""
        return self._variant or self.names[0]

    def __getitem__(self, name: str) -> LoadedModel:
        """Return one model, loaded at its first use; raises `ArtifactError` for another name."""
        loaded = self._loaded.get(name)
        if loaded is not None:
            return loaded
        model = self.manifest.model(name)
        with self._lock:
            if name not in self._loaded:
                self._loaded[name] = self._load(model)
            return self._loaded[name]

    def _load(self, model: PackagedModel) -> LoadedModel:
        if self._opened.file.closed:
            raise UsageError(CLOSED)
        for fit in self.variants:
            if fit.name == model.name and not fit.fits:
                raise ArtifactError(
                    f"Variant {fit.name!r} ({fit.made_for}) cannot run here: {fit.why}."
                )
        unpacking, self._unpacking = self._unpacking or Unpacking(self._opened, model), None
        return LoadedModel(self._opened, model, unpacking, runners=self._runners, check=self._check)

    def __enter__(self) -> Self:
        """Return the package itself."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close it."""
        self.close()

    def __repr__(self) -> str:
        """A short stable summary: no times, no addresses."""
        from workbench.report.report_header import together

        lines = [f"Package({os.path.basename(self.path)})"]
        for model in self.manifest.models:
            inputs = ", ".join(model.inputs)
            if conditions := model.contract.get("guards"):
                inputs = f"{inputs}; only where {together(conditions)}"
            weights = f"weights {model.weights}"
            lines.append(f"  {model.name}({inputs}) on {model.device}, {weights}")
        lines += [f"  variant {fit.name}: {_state(fit)}" for fit in self.variants]
        return "\n".join([*lines, *(f"  note: {note}" for note in self.notes)])

    @property
    def names(self) -> tuple[str, ...]:
        """The model names."""
        return tuple(model.name for model in self.manifest.models)

    @checked
    def variant_of(self, /, *args: Any, **kwargs: Any) -> VariantChoice:
        """Return the variant that a call with these inputs would use, and why, without running it.

        Raises `UsageError` if the package has no variants, and `ContractError` if none accepts the
        inputs.
        """
        if not self.manifest.are_variants:
            raise UsageError(f"{self.path} holds no variants: its only model runs every call.")
        if self._variant is None:
            return self._several_variants().choice(args, kwargs)
        from workbench.compiler.running.several_models import find_only_variant

        return find_only_variant(self._variant, self.variants)

    @property
    def digest(self) -> str:
        """The digest for `trust=`, or a hash of the known contents if torch wrote the package."""
        return self.manifest.digest

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes on unexpected properties of each model."""
        for model in self.manifest.models:
            if model.name not in self._said:
                is_known = model.report is not None and not self._opened.file.closed
                notes = self.report_of(model.name).request.notes if is_known else ()
                self._said[model.name] = tuple(notes)
        loaded = {name: tuple(model.notes) for name, model in self._loaded.items()}
        return tuple(
            f"{name}: {note}"
            for name in self.names
            for note in (*loaded.get(name, ()), *self._said[name])
        )

    @property
    def report(self) -> Report:
        """The compilation report; if there are several models, the first model's.

        If there are variants, it is the report of the first one that fits this machine.
        """
        from workbench.compiler.aot_files.file_tables import add_file_later

        if self._record is None:
            first = next((fit.name for fit in self.variants if fit.fits), self.names[0])
            record = self.report_of(self._variant or first)
            self._record = add_file_later(record, self.path, self.digest)
        return self._record

    @checked
    def update(self, report: Report) -> None:
        """Replace the report, for example with one that includes round-trip results."""
        before, self._record = self._record, report
        if before is not None:
            self._notify(before, report)

    @checked
    def report_of(self, name: str) -> Report:
        """Return the compilation report of one model, or raise `ArtifactError` if there is none."""
        member = self.manifest.model(name).report
        if member is None:
            raise ArtifactError(
                f"{self.path} has no report of {name}, because torch itself wrote it."
            )
        with self._lock:
            content = self._opened.raw(member) if not self._opened.file.closed else None
        if content is None:
            raise UsageError(CLOSED)
        from workbench.report.record import Report

        return Report.from_bytes(decode_report(content))

    @checked
    def update_weights(
        self, weights: Any, *, partial: bool = False, model: str | None = None
    ) -> None:
        """Replace the weights, even while the package is being called.

        The new weights are loaded into a second buffer, and the buffers are swapped between calls.
        Every call therefore uses either the old or the new weights, never a mix.

        Parameters
        ----------
        weights
            A state_dict, or a module with the same weights. Names of tied weights refer to the same
            tensor.
        partial
            Keep the current values of missing weights. If False, all weights are required, and
            weights that the compiled code does not use are ignored.
        model
            The model name, if the package holds several. Without a name, all variants that fit this
            machine are updated.

        Raises
        ------
        UsageError
            A weight is missing or unknown, or its shape or dtype differs. The error lists all of
            them.
        """
        if model is None and not isinstance(self._only, _Several):
            self._only.update_weights(weights, partial=partial)
            return
        self[self.manifest.model(model).name].update_weights(weights, partial=partial)

    def verified(self) -> Self:
        """Wait until the mapped weights are hashed, and raise `ArtifactError` on a mismatch."""
        for model in self._loaded.values():
            model.verified()
        return self

    def close(self) -> None:
        """Wait for running calls, then free all resources; later calls raise `UsageError`."""
        with self._lock:
            self._opened.file.close()
            loaded = list(self._loaded.values())
        for model in loaded:
            model.close()


def _state(fit: VariantFit) -> str:
    return f"{fit.made_for}: {'fits' if fit.fits else f'cannot run here, {fit.why}'}"


def _model_of(package: OpenPackage | None, name: str) -> LoadedModel:
    assert package is not None  # whoever calls it holds the package
    return package[name]


class _Several:
    """In place of the only model, where there are several, or none that can run here."""

    signature = None

    def __init__(self, names: tuple[str, ...], refusal: str | None = None) -> None:
        listed = ", ".join(names)
        several = f"The package holds several models ({listed}). Call package[name](…)."
        self._refusal = refusal or several

    def _call(self, /, *args: Any, **kwargs: Any) -> Any:
        raise UsageError(self._refusal)
