"""What a process may do while it reads or writes a file: an audit hook that notes the rest."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

_WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
_RUNS = (
    *("exec", "subprocess.", "socket.", "pty.", "marshal.", "pickle.", "code."),
    *("function.__new__", "os.system", "os.exec", "os.fork", "os.spawn", "os.posix_spawn"),
    *("urllib.", "http.", "ftplib.", "webbrowser.", "mmap.", "sqlite3.", "setopencodehook"),
)
_CHANGES = (
    *("os.chmod", "os.chown", "os.link", "os.symlink", "os.rename", "os.remove", "os.rmdir"),
    *("os.mkdir", "os.truncate", "os.utime", "os.setxattr", "os.mkfifo", "os.mknod", "shutil."),
)
_PRIVATE = "aot-workbench-"  # the folder that load unpacks into, checking as it writes
_CALL = "<call of a package>"  # the call that a package writes for itself from its manifest
_VARIABLES = ("TORCHINDUCTOR_CACHE_DIR", "_TORCHINDUCTOR_PYOBJECT_TENSOR_DATA_PTR")
_LIBRARIES = ("libnvidia-ml.so.1",)  # which GPUs this machine has


class Watch:
    """An audit hook, which cannot be taken away again; it notes while it is switched on.

    Files may be written whose paths begin with `private`: those that load unpacks.
    """

    def __init__(self, private: str | None = None) -> None:
        self.seen: list[str] = []
        self._on = self._runs = False
        self._private = private or os.path.join(tempfile.gettempdir(), _PRIVATE)
        sys.addaudithook(self._hook)

    @contextmanager
    def on(self, *, runs: bool = False) -> Iterator[list[str]]:
        """What the block does that it must not; with `runs` it may start the package inside."""
        self.seen = []
        self._on, self._runs = True, runs
        try:
            yield self.seen
        finally:
            self._on = False

    def _hook(self, event: str, arguments: tuple[Any, ...]) -> None:
        if self._on and (what := self._forbidden(event, arguments)):
            self.seen.append(what)
            raise PermissionError(f"a file is being looked at: {what}")

    def _forbidden(self, event: str, arguments: tuple[Any, ...]) -> str | None:
        if event == "open":
            path, _, flags = arguments
            writes = isinstance(flags, int) and flags & _WRITES
            return f"open {path!r} for writing" if writes and not self._is_ours(path) else None
        if event == "import":
            return f"import {arguments[0]}"
        if event.startswith("ctypes."):
            if event != "ctypes.dlopen" or arguments[0] in _LIBRARIES:
                return None
            unpacked = self._runs and self._is_ours(arguments[0])
            return None if unpacked else f"{event} {arguments}"
        if event == "mmap.__new__":  # reading what was just unpacked
            return None if self._is_ours(arguments[0]) else f"{event} {arguments}"
        if event == "os.putenv":
            return None if os.fsdecode(arguments[0]) in _VARIABLES else f"{event} {arguments}"
        if event.startswith(_CHANGES):
            in_folder = isinstance(arguments[-1], int) and arguments[-1] >= 0  # rmtree does so
            return None if in_folder or self._is_ours(arguments[0]) else f"{event} {arguments}"
        if event == "exec" and self._runs and arguments[0].co_filename == _CALL:
            return None
        return f"{event} {arguments!r:.200}" if event.startswith(_RUNS) else None

    def _is_ours(self, path: Any) -> bool:
        """Whether it is inside a private folder."""
        if isinstance(path, int):
            path = os.readlink(f"/proc/self/fd/{path}") if path >= 0 else ""
        return os.fsdecode(path).startswith(self._private)
