"""Runs the ways of a round trip in processes, one at a time, and leaves nothing behind."""

from __future__ import annotations

import shutil
import time
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from workbench.errors import WorkbenchError
from workbench.processes.child import Child

LIMIT_S = 1800.0
_HIDDEN = ("TORCHINDUCTOR_FORCE_DISABLE_CACHES", "TRITON_INTERPRET")
_TAIL = 1500  # characters of what a process wrote before it died


def run(
    folder: Path, caches: Path, order: Mapping[str, Any], temporary: Collection[Path] = ()
) -> dict[str, Any]:
    """Run one order in a new process and return what it found, or `{"error": …}`.

    The process and everything that it started end with this call, also after an interrupt.
    `folder` is new and gets its outputs; its caches are in `caches`. `temporary` are folders that
    it removes when this process ends first.
    """
    folder.mkdir()
    started = time.perf_counter()
    removed = tuple(str(one) for one in (folder, *temporary))
    variables = _variables(caches)
    with Child(
        "workbench.roundtrips.child", variables=variables, hidden=_HIDDEN, temporary=removed
    ) as child:
        try:
            found: dict[str, Any] = child.ask(
                (str(folder), started, dict(order)), deadline=time.monotonic() + LIMIT_S
            )
        except TimeoutError:
            return {"error": f"it took longer than {LIMIT_S:.0f} s and was ended"}
        except EOFError:
            wrote = child.last_words(_TAIL) or "(nothing)"
            return {"error": f"its process {child.how_it_ended()}; it wrote: {wrote}"}
        except WorkbenchError as error:
            return {"error": str(error)}
    return found


def _variables(caches: Path) -> dict[str, str]:
    """Cache folders of its own."""
    names = {
        "TMPDIR": "tmp",
        "TORCHINDUCTOR_CACHE_DIR": "inductor",
        "TRITON_CACHE_DIR": "triton",
        "AOT_WORKBENCH_CACHE": "workbench",
    }
    for name in names.values():
        (caches / name).mkdir(parents=True, exist_ok=True)
    return {variable: str(caches / name) for variable, name in names.items()}


def remove(folder: Path) -> None:
    """Remove a folder, even if a process that was just ended still writes there."""
    for _ in range(20):
        shutil.rmtree(folder, ignore_errors=True)
        if not folder.exists():
            return
        time.sleep(0.05)
