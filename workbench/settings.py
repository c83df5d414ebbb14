"""What the user's environment variables say: the only place that reads them."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

NAME = "aot-workbench"


@dataclass(frozen=True)
class Settings:
    """Folders and switches that come from outside; `inductor_cache` is None when nobody set it."""

    cache_folder: Path
    data_folder: Path
    inductor_cache: str | None = None

    @classmethod
    def from_environment(cls, variables: Mapping[str, str] | None = None) -> Settings:
        """Read the variables of this process, or the given ones."""
        known = os.environ if variables is None else variables
        home = Path(known.get("HOME") or Path.home())
        return cls(
            cache_folder=_folder(known, "AOT_WORKBENCH_CACHE", "XDG_CACHE_HOME", home / ".cache"),
            data_folder=_folder(
                known, "AOT_WORKBENCH_DATA", "XDG_DATA_HOME", home / ".local" / "share"
            ),
            inductor_cache=known.get("TORCHINDUCTOR_CACHE_DIR") or None,
        )


def _folder(known: Mapping[str, str], own: str, base: str, default: Path) -> Path:
    if chosen := known.get(own):
        return Path(chosen)
    return Path(known.get(base) or default) / NAME
