"""A compiled function: called like the original, checked on every call, inspected, saved."""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike
from typing import TYPE_CHECKING, Any

from workbench.arguments import checked
from workbench.file_path import check_file_path
from workbench.handles.base.checked_call import CheckedCall
from workbench.handles.recompilable import Recompilable

if TYPE_CHECKING:
    from workbench.analysis.memory.memory import Memory
    from workbench.compiler.comparison.output_comparison import Verification
    from workbench.report.profile_record import Profile
    from workbench.tasks.progress_events import ProgressCallback


class Compiled(CheckedCall, Recompilable):
    """Callable compiled code, as returned by `aot_compile` and `load`.

    Call it exactly like the eager function. For a compiled module, do not pass the module itself. A
    call that does not match raises `ContractError`, which lists each mismatched leaf.
    """

    def _verify_here(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Verification:
        from workbench.handles.running.verify import verify

        return verify(self, args, kwargs)

    @checked
    def profile(self, /, *args: Any, **kwargs: Any) -> Profile:
        """Measure every kernel in the unmodified generated code on these inputs."""
        from workbench.handles.running.profile import profile_compiled

        return profile_compiled(self, args, kwargs)

    @checked
    def memory(
        self, *, eager: bool | None = None, progress: ProgressCallback | None = None
    ) -> Memory:
        """Count the live memory of a call, which can also be measured on the CPU."""
        from workbench.handles.memory.measured import make_measurable

        return make_measurable(self, super().memory(eager=eager, progress=progress))

    @checked
    def save(
        self,
        path: str | PathLike[str],
        *,
        weights: str | None = None,
        isa: str | list[str] = "native",
        external_data: Mapping[str, Any] | None = None,
    ) -> str:
        """Write an `.aot` file atomically and return its sha256, used to trust the file elsewhere.

        `weights="inside"` stores the module's tensors and skeleton, so `load(path)` needs no other
        arguments ("beside" does the same here). "later" leaves them out; pass the module to `load`.
        None means "inside" if there are weights that can be stored. `external_data` names objects
        that are not stored and must be passed to `load`. Raises `ArtifactError` if something cannot
        be saved.
        """
        from workbench.compiler.aot_files.file_tables import add_saved_file
        from workbench.handles.saving.save import save_compiled

        path = check_file_path(path)
        digest = save_compiled(self, path, weights=weights, isa=isa, external_data=external_data)
        self.update(add_saved_file(self.report, path, digest))
        return digest
