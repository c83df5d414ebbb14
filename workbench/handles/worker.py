"""The process that compiles in the background: `python -m workbench.handles.worker FOLDER`."""

from __future__ import annotations

import json
import linecache
import os
import shutil
import signal
import sys
import threading
import time
from pathlib import Path
from typing import IO, Any

PATHS = "paths.json"
RESULT, REPORT = "result.aot", "report.wbr"


class Teller:
    """Writes what happens to the parent, one JSON object per line."""

    def __init__(self, stream: IO[str]):
        self._stream = stream
        self._lock = threading.Lock()

    def send(self, **message: Any) -> None:
        """One message."""
        with self._lock:
            self._stream.write(json.dumps(message) + "\n")
            self._stream.flush()

    def __call__(self, name: str, elapsed: float) -> None:
        """A phase begins."""
        self.send(begin=name, at=time.time())

    def end(self, name: str, elapsed: float) -> None:
        """A phase ended."""
        self.send(end=name, at=time.time())

    def kernel(self, name: str) -> None:
        """A kernel was generated."""
        self.send(kernel=name)


def _end_with_parent(folder: Path) -> None:
    """Leave nothing, no compiler and no file, when the parent's end of the pipe closes."""

    def watch() -> None:
        os.read(0, 1)  # not sys.stdin: its lock would hang the interpreter's exit
        shutil.rmtree(folder, ignore_errors=True)
        os.killpg(0, signal.SIGKILL)

    threading.Thread(target=watch, daemon=True).start()


def main(folder: Path) -> int:
    """Compile what lies in `folder`, and leave the artifact there."""
    _end_with_parent(folder)
    teller = Teller(os.fdopen(os.dup(1), "w"))
    os.dup2(2, 1)  # what user code prints is no message
    setting = json.loads((folder / PATHS).read_text())
    sys.path[:] = setting["path"]
    os.chdir(setting["folder"])
    from workbench.errors import WorkbenchError

    try:
        teller.send(done=_compile(folder, teller))
    except WorkbenchError as error:
        if error.report is not None:
            error.report.save(folder / REPORT)
        teller.send(error=type(error).__name__, text=str(error))
    return 0


def _compile(folder: Path, teller: Teller) -> str:
    from workbench.compiler.pipeline.pipeline import compile_ahead
    from workbench.handles.compiled import Compiled
    from workbench.handles.save import save_compiled
    from workbench.processes.caller_context import as_in_parent
    from workbench.processes.shipping import unpack

    parcel = unpack(folder)
    linecache.cache.update(parcel["lines"])
    with as_in_parent(parcel["ambient"], parcel["cells"]):
        call = (parcel["function"], parcel["args"], parcel["kwargs"], parcel["options"])
        compiled = Compiled.of(compile_ahead(*call, teller))
        teller("saving", 0.0)
        digest = save_compiled(
            compiled, folder / RESULT, weights="separate", isa="native", external_data={}
        )
        teller.end("saving", 0.0)
    return digest


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
