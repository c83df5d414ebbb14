"""AOTInductor for one exported program: the files of its library, what they hold, the record."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from workbench.compiler.internals import torch_private as tp
from workbench.compiler.internals.patches import Patches
from workbench.compiler.packaging.constants import Library, watched
from workbench.compiler.packaging.exporting import sizes_assumed
from workbench.compiler.packaging.request import BESIDE, INSIDE, LATER
from workbench.errors import CaptureError

_COMMANDS = "// Compile cmd"  # what torch adds at the end: the compiler's command lines
_KEEP = "always_keep_tensor_constants"
_WEIGHTS: Mapping[str, Mapping[str, Any]] = {
    INSIDE: {},
    BESIDE: {
        "aot_inductor.package_constants_in_so": False,
        "aot_inductor.package_constants_on_disk_format": "binary_blob",
    },
    LATER: {"aot_inductor.package_constants_in_so": False},
}


@dataclass(frozen=True)
class Built:
    """The files that torch made for one library, by their name in its folder.

    `assumed` is what torch supposed about sizes while it compiled, in its own symbols.
    """

    files: Mapping[str, Path]
    library: Library
    has_weights: bool = True
    assumed: tuple[str, ...] = ()

    def named(self, suffix: str) -> str | None:
        """The one file with a suffix, or None."""
        return next((name for name in self.files if name.endswith(suffix)), None)


def options_for(weights: str, chosen: Mapping[str, Any]) -> dict[str, Any]:
    """Inductor's options for a package.

    Constants stay tensors unless the user asks otherwise: torch writes those of up to eight
    elements into the code, where new weights never reach them.
    """
    return {_KEEP: True, **chosen, **_WEIGHTS[weights]}


def build(
    program: Any, options: Mapping[str, Any], folder: Path, *, any_size: bool = False
) -> Built:
    """Compile into `folder`; torch names the files by the hash of their content.

    `any_size` is that of the exported program.
    """
    module = program.module(check_guards=False)
    args, kwargs = program.example_inputs
    settings = {
        **options,
        "aot_inductor.package": True,
        "aot_inductor.output_path": str(folder),
    }
    with (
        watched() as library,
        _noted_guards() as assumed,
        sizes_assumed(not any_size),
        warnings.catch_warnings(),
    ):
        # torch copies a class of its own that it has deprecated
        warnings.filterwarnings("ignore", ".*LeafSpec", FutureWarning)
        made = tp.AOTI_COMPILE.get()(module, args, kwargs, options=settings)
    if not isinstance(made, list) or not library.seen:
        raise CaptureError(
            "torch returned no library for this program. Leave out options that replace "
            "AOTInductor's code generation, such as fx_wrapper."
        )
    files = [Path(file) for file in made if isinstance(file, str) and file]
    has_weights = bool(options.get("aot_inductor.package_constants_in_so", True))
    return Built({f.name: f for f in files}, library, has_weights, tuple(assumed))


@contextmanager
def _noted_guards() -> Iterator[dict[str, None]]:
    """What torch supposes about sizes inside of the `with`, in its own symbols."""
    assumed: dict[str, None] = {}

    def note(_env: Any, _prefix: Any, guard: Any, *_args: Any, **_options: Any) -> None:
        assumed[str(guard)] = None

    with Patches() as patches:
        patches.observe(tp.LOG_GUARD, "package", before=note)
        yield assumed


def shareable(file: Path) -> bytes | Path:
    """A generated file as others may see it: sources without the folders of this machine."""
    if file.suffix != ".cpp":
        return file
    code, _, _ = file.read_text().partition(_COMMANDS)
    return code.replace(f"{file.parent}{os.sep}", "").rstrip().encode() + b"\n"
