"""What the user chose: by environment variables, which only this file reads, and by `options`."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args

from workbench.errors import UsageError

NAME = "aot-workbench"


@dataclass(frozen=True)
class Settings:
    """Folders and switches that come from outside; what is None was set by nobody."""

    cache_folder: Path
    data_folder: Path
    inductor_cache: str | None = None
    policy_file: Path | None = None

    @classmethod
    def from_environment(cls, variables: Mapping[str, str] | None = None) -> Settings:
        """Read the variables of this process, or the given ones."""
        environment = os.environ if variables is None else variables
        home = Path(environment.get("HOME") or Path.home())
        policy = environment.get("AOT_WORKBENCH_POLICY")
        return cls(
            cache_folder=_folder(
                environment, "AOT_WORKBENCH_CACHE", "XDG_CACHE_HOME", home / ".cache"
            ),
            data_folder=_folder(
                environment, "AOT_WORKBENCH_DATA", "XDG_DATA_HOME", home / ".local" / "share"
            ),
            inductor_cache=environment.get("TORCHINDUCTOR_CACHE_DIR") or None,
            policy_file=Path(policy) if policy else None,
        )


_OF_TRITON = (
    *("TRITON_", "AMDGCN_", "ALLOW_LHS_TMEM_", "DISABLE_LLVM_", "DISABLE_MMA_", "DISABLE_PTXAS_"),
    *("LLVM_", "MLIR_", "NVPTX_", "PTXAS_", "USE_IR_LOC"),
)
_OTHER = "TRITON_INTERPRET", "TRITON_VIZ_"


def read_triton_switches() -> tuple[str, ...]:
    """The variables by which Triton compiles otherwise, "NAME=value", as they are now.

    Those of places are left out: what lies there says its own version.
    """
    return tuple(
        f"{name}={value}"
        for name, value in sorted(os.environ.items())
        if name.startswith(_OF_TRITON)
        and not name.startswith(_OTHER)
        and not name.endswith(("_PATH", "_DIR"))
    )


def _folder(environment: Mapping[str, str], own: str, base: str, default: Path) -> Path:
    if chosen := environment.get(own):
        return Path(chosen)
    return Path(environment.get(base) or default) / NAME


Embed = Literal["full", "light", "none"]


class Options:
    """What holds for the rest of the session; a wrong name or value raises `UsageError`.

    `embed` is how much of a view a saved notebook keeps: `"full"` every part that fits, `"light"`
    what a view shows at rest, `"none"` a plain summary without the interactive view.

    Examples
    --------
    >>> wb.options.embed = "light"
    >>> wb.options
    Options(embed='light')
    """

    embed: Embed = "full"

    def __setattr__(self, name: str, value: Any) -> None:
        if name not in self.__annotations__:
            names = ", ".join(self.__annotations__)
            raise UsageError(f"Unknown option {name!r}. The options are: {names}.")
        if value not in get_args(Embed):
            allowed = ", ".join(repr(choice) for choice in get_args(Embed))
            raise UsageError(f"options.{name} is {value!r}; it can be {allowed}.")
        super().__setattr__(name, value)

    def __repr__(self) -> str:
        return f"Options(embed={self.embed!r})"


options = Options()
"""The session's options, as `workbench.options`."""
