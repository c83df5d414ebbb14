"""The profile that a session takes of its own: torch's profiler, from its start to its end."""

from __future__ import annotations

import os
from contextlib import ExitStack
from dataclasses import replace

import torch

from workbench.compiler.internals import torch_private as tp
from workbench.compiler.internals.patches import ProcessPatches
from workbench.errors import UsageError
from workbench.profiles.profile_reader import read_profile
from workbench.report.profile.run_profile import RunProfile
from workbench.temporary import make_temporary_folder

_SILENT = ("KINETO_LOG_LEVEL", "99")  # Kineto prints two lines for each profile


_NO_STACKS = (
    "No lines and no modules",
    "of compiled kernels the records of the session have them; for others write a trace of steps "
    "in which nothing is compiled, with torch.profiler and with_stack=True",
)
_ON_CPU = "No work of a GPU"


class SessionProfile:
    """Torch's profiler with shapes and memory; without stacks.

    With them torch records each Python call of its own compiler: 22 GB for a small U-Net (2.13).
    On a machine without a GPU it has the operators of the CPU.
    """

    def __init__(self) -> None:
        self._profiler = torch.profiler.profile(record_shapes=True, profile_memory=True)
        self._steps = 0

    def start(self) -> None:
        """Begin; raises `UsageError` where the profiler does not start.

        A second profile would empty the one that is running (torch 2.13), so it is not tried.
        """
        if tp.PROFILER_IS_RUNNING.get():
            raise UsageError(
                "Another profile of torch's is running: end it, or take profile=False and read its "
                "trace with wb.read_profile."
            )
        with ExitStack() as undo:
            patches = undo.enter_context(ProcessPatches())
            patches.entry(os.environ, *_SILENT)
            patches.name(tp.PROFILER_IS_RUNNING, False)  # torch leaves True where a start fails
            try:
                self._profiler.start()
            except RuntimeError as error:
                reason = str(error).partition("\n")[0]
                raise UsageError(f"torch's profiler does not start: {reason}.") from error
            self._undo = undo.pop_all()
        self._open_step()

    def mark_step(self) -> None:
        """End a step, which the trace then has as `ProfilerStep`, and begin the next."""
        self._step.__exit__(None, None, None)
        self._steps += 1
        self._open_step()

    def _open_step(self) -> None:
        # `step()` of a profile without a schedule leaves no mark (torch 2.13)
        self._step = torch.profiler.record_function(f"ProfilerStep#{self._steps}")
        self._step.__enter__()  # type: ignore[no-untyped-call]

    def stop(self) -> RunProfile:
        """End it, and read what it wrote."""
        with self._undo:
            self._step.__exit__(None, None, None)
            self._profiler.stop()
            with make_temporary_folder("aot-workbench-trace-") as folder:
                path = folder / "session.json"
                self._profiler.export_chrome_trace(str(path))
                return _explain(read_profile(path))


def _explain(profile: RunProfile) -> RunProfile:
    """The profile with advice that a session can follow: its options are not the user's."""
    header = profile.header
    lacks = (_NO_STACKS if what.startswith(_NO_STACKS[0]) else (what, how)
             for what, how in header.missing if what != _ON_CPU)  # fmt: skip
    return RunProfile(replace(header, missing=tuple(lacks)), profile.tables)
