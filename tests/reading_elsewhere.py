"""The reading half as macOS or Windows has it: `python -m tests.reading_elsewhere darwin FOLDER`.

Torch, and the standard library's modules that the system lacks, are hidden; `sys.platform` and
what `os` and `signal` lack there are patched. Prints one JSON object: what each call gave.
"""

from __future__ import annotations

import importlib
import json
import os
import signal
import sys
from collections.abc import Callable
from importlib.machinery import PathFinder
from pathlib import Path
from typing import Any

RECORDS = Path(__file__).parent / "records"
POSIX = {"fcntl", "grp", "pty", "pwd", "resource", "syslog", "termios", "tty"}
LACKS = {  # system → modules, names of os, names of signal
    "darwin": ({"spwd"}, ("O_TMPFILE", "sched_getaffinity"), ()),
    "win32": (
        {*POSIX, "spwd"},
        (
            *("O_CLOEXEC", "O_DIRECTORY", "O_NONBLOCK", "O_TMPFILE", "fork", "geteuid", "getuid"),
            *("killpg", "sched_getaffinity", "set_blocking", "setsid"),
        ),
        ("SIGKILL", "SIGUSR1"),
    ),
}


def pretend(system: str) -> None:
    """Hide what `system` lacks; the libraries are imported before, as they are for this one."""
    libraries = ("matplotlib.pyplot", "orjson", "pandas", "pygments.lexers")
    for library in (*libraries, "urllib.request"):  # macOS has a module of its own for the latter
        importlib.import_module(library)

    hidden, names, signals = LACKS[system]

    class Visible(PathFinder):
        @classmethod
        def find_spec(cls, name: str, path: Any = None, target: Any = None) -> Any:
            top = name.partition(".")[0]
            if top in {"torch", "triton", *hidden}:
                return None
            return PathFinder.find_spec(name, path, target)

    sys.meta_path = [Visible if finder is PathFinder else finder for finder in sys.meta_path]
    for module in hidden:
        sys.modules.pop(module, None)
    for holder, lacking in ((os, names), (signal, signals)):
        for name in lacking:
            vars(holder).pop(name, None)
    sys.platform = system


def reading(folder: Path) -> dict[str, Callable[[], Any]]:
    """Each kind of file read and rendered, and what cannot be done here."""
    import workbench as wb

    block = wb.Report.load(RECORDS / "block.wbr")
    training = wb.Report.load(RECORDS / "training.wbr")
    old = RECORDS / "v0_1_0"
    return {
        "report": lambda: block,
        "table": lambda: len(block.frame("kernels")),
        "page": lambda: len(block.to_html(str(folder / "report.html"))),
        "memory": lambda: wb.memory(training).peak,
        "opportunities": lambda: wb.opportunities(training),
        "launches": lambda: wb.launches(wb.Report.load(RECORDS / "norm_h100.wbr")),
        "chart": lambda: type(block.plot("kernels")).__name__,
        "shown": lambda: len(repr(wb.show(block))),
        "live view": lambda: type(wb.diff(block, training).view()).__name__,
        "GPU": lambda: wb.Report.load(RECORDS / "norm_h100.wbr"),
        "saved again": lambda: training.save(str(folder / "again.wbr")),
        "diff": lambda: wb.diff(block, training),
        "diff page": lambda: len(wb.diff(block, training).to_html(str(folder / "diff.html"))),
        "log": lambda: wb.read_trace(RECORDS / "traces" / "recompiles.log.gz"),
        "kernel log": lambda: wb.read_tritonparse(RECORDS / "kernel_logs" / "t4.ndjson.gz"),
        "sweep": lambda: len(wb.Sweep.load(old / "sums.sqlite").frame()),
        "artifact": lambda: wb.inspect(old / "block.aot"),
        "package": lambda: wb.inspect(old / "block.pt2"),
        "preflight": lambda: {
            row.name: row.verdict for row in wb.check(old / "block.pt2").requirements
        },
        "compile": lambda: wb.aot_compile(len, ("",)),
        "load": lambda: wb.load(old / "block.aot"),
    }


def main(system: str, folder: str) -> None:
    """Print what every reader gave, or the error that it raised."""
    pretend(system)
    found = {}
    for name, read in reading(Path(folder)).items():
        try:
            value = read()
            found[name] = value if isinstance(value, dict | int) else repr(value)
        except Exception as error:
            found[name] = f"{type(error).__name__}: {error}"
    print(json.dumps(found))


if __name__ == "__main__":
    main(*sys.argv[1:])
