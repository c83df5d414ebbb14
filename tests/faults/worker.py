"""Looks into mutated files in a process of its own: `python -m tests.faults.worker JOB.json`."""

from __future__ import annotations

import codecs
import faulthandler
import json
import os
import resource
import signal
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import is_dataclass
from pathlib import Path
from typing import Any, get_type_hints

from tests.faults.mutations import Mutation, Mutator
from tests.faults.watching import Watch
from workbench.artifacts.archive.file_kinds import LOADABLE
from workbench.artifacts.machine.machine_description import describe_current_machine
from workbench.artifacts.manifest import manifest, package_manifest
from workbench.handles.loading.loaders import find_loader
from workbench.typed_data import _list_parts

_SECONDS = 10  # of the processor, for one call; what waits for ever meets the timeout of the job
_MEMORY = 512 << 20  # beyond what the process takes before the first mutation
_CODECS = (
    *("cp437", "latin_1", "raw_unicode_escape", "unicode_escape", "utf_8_sig", "utf_16"),
    *("utf_16_le", "utf_16_be", "utf_32", "utf_32_le", "utf_32_be"),
)  # pickles and JSON name their own


class Hangs(BaseException):
    """A call that does not come back."""


@contextmanager
def _in_time() -> Iterator[None]:
    signal.setitimer(signal.ITIMER_PROF, _SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)


def _late(*_: object) -> None:
    raise Hangs(f"more than {_SECONDS} s of the processor")


class Looking:
    """Runs inspect, check and load on files and keeps what went wrong."""

    def __init__(self, wb: Any, folder: Path):
        self.wb = wb
        self.path = folder / "mutated"
        self.marker = folder / "marker"
        self.temporary = folder / "temporary"
        self.watch = Watch()
        self.outcomes: Counter[str] = Counter()
        self.failures: list[str] = []
        self.slowest = (0.0, "")

    def look(self, label: str, mutation: Mutation, digest: str | None) -> None:
        """One file; a report about it must not say that the user vouches for all of it."""
        self.path.write_bytes(mutation.content)
        begun = time.process_time()
        report = self._call(label, "inspect", self.wb.inspect)
        self._call(label, "check", self.wb.check)
        if mutation.damaged:
            self._load_unused(label, mutation.damaged)
        elif self._call(label, "load", self.wb.load) is not None:
            self.failures.append(f"{label}: load accepted it")
        self.slowest = max(self.slowest, (time.process_time() - begun, label))
        vouched = report is not None and report.digest == digest and "you" in report.signature
        if vouched and not any(member.damaged for member in report.members):
            self.failures.append(f"{label}: inspect calls it whole and signed by you")
        if self.marker.exists() or any(self.temporary.iterdir()):
            self.failures.append(f"{label}: something was run or left behind")
            self.marker.unlink(missing_ok=True)

    def summary(self) -> dict[str, Any]:
        """What came out, and the most memory that the process has taken."""
        return {
            "outcomes": self.outcomes,
            "failures": self.failures,
            "slowest": self.slowest,
            "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
        }

    def _load_unused(self, label: str, damaged: tuple[str, ...]) -> None:
        """A package whose library is whole may run; damaged weights are found meanwhile."""

        def verified(path: Path) -> bool:
            with self.wb.load(path) as package:
                package.verified()
            return True

        if self._call(label, "load", verified, runs=True) is None:
            return
        if any(name.endswith(".blob") for name in damaged):
            self.failures.append(f"{label}: damaged weights were not found")

    def _call(
        self, label: str, what: str, function: Callable[[Path], Any], *, runs: bool = False
    ) -> Any:
        """What a call gives, None when it raises the right kind of error; `runs` as in `Watch`."""
        found = None
        answered = "nothing that runs was damaged" if runs else "answered"
        try:
            with self.watch.on(runs=runs) as seen, _in_time():
                found = function(self.path)
                repr(found)
                _open_report(found)
            self.outcomes[f"{what}: {answered}"] += 1
        except self.wb.WorkbenchError as error:
            self.outcomes[f"{what}: {type(error).__name__}"] += 1
            if not str(error).strip():
                self.failures.append(f"{label}: {what} says nothing")
        except BaseException as error:  # a wrong error is what this is looking for
            self.failures.append(f"{label}: {what} raised {type(error).__name__}: {error!s:.200}")
        self.failures.extend(f"{label}: {what} did {event}" for event in seen)
        return found


def _open_report(found: Any) -> None:
    """The record inside, as far as inspect found one, to the last table."""
    for name in getattr(found, "reports", ()):
        report = found.report(name)
        for table in report.tables.values():
            list(table)
        dict(report.texts)


def _warm(looking: Looking, samples: dict[str, str]) -> dict[str, str]:
    """Import everything that looking at files takes; the digest of every sample."""
    for name in _CODECS:
        codecs.lookup(name)
    import workbench.argument_errors
    import workbench.artifacts.trust.team_keys
    import workbench.compiler.package_calls.call_check
    import workbench.handles.packages.package
    import workbench.handles.packages.package_parts  # noqa: F401 - imported as a file is opened

    for loadable in LOADABLE:
        find_loader(loadable)
    for module in (manifest, package_manifest):
        for kind in vars(module).values():
            is_own = getattr(kind, "__module__", "") == module.__name__
            if is_own and isinstance(kind, type) and is_dataclass(kind):
                get_type_hints(kind)  # annotations are evaluated when they are first asked for
                _list_parts(kind)
    digests = {}
    for kind, path in samples.items():
        content = Path(path).read_bytes()
        report = looking.wb.inspect(path)
        digests[kind] = report.digest
        _open_report(report)
        for other in (content, content[:-1], content[: len(content) // 2]):
            looking.path.write_bytes(other[:1] + other[1:])
            for function in (looking.wb.inspect, looking.wb.check):
                try:
                    repr(function(looking.path))
                except looking.wb.WorkbenchError:
                    continue
    return digests


def _remember_machine() -> None:
    """Describe this machine once: it does not change, and files are what matters here."""
    machine = describe_current_machine()
    for name, module in list(sys.modules.items()):
        if name.startswith("workbench.") and hasattr(module, "describe_current_machine"):
            module.describe_current_machine = lambda **_: machine  # type: ignore[attr-defined]


def _limit_memory() -> None:
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    limit = pages * resource.getpagesize() + _MEMORY
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))


def main(job_file: str) -> None:
    """Do what the job says and write the summary; the last label says where a crash was."""
    job = json.loads(Path(job_file).read_text())
    folder = Path(job["folder"])
    signal.signal(signal.SIGPROF, _late)
    faulthandler.enable()
    faulthandler.dump_traceback_later(job["timeout"], exit=True)
    import workbench as wb

    looking = Looking(wb, folder)
    digests = _warm(looking, job["samples"])
    _refused(looking, job["samples"])
    _remember_machine()
    _limit_memory()
    handle = os.open(folder / "last", os.O_WRONLY | os.O_CREAT)
    counts = {}
    for kind, path in job["samples"].items():
        mutator = Mutator(kind, Path(path).read_bytes(), looking.marker)
        begun = time.process_time()
        for number in range(job["first"], job["first"] + job["count"]):
            mutation = mutator.mutation(number)
            label = f"{kind} {number} ({mutation.name})"
            os.pwrite(handle, f"{label:<100}".encode(), 0)
            looking.look(label, mutation, digests[kind])
        counts[kind] = {"files": job["count"], "seconds": time.process_time() - begun}
    (folder / "summary.json").write_text(json.dumps({"counts": counts, **looking.summary()}))


def _refused(looking: Looking, samples: dict[str, str]) -> None:
    """Load files that nobody vouches for: what a refusal imports."""
    for path in samples.values():
        content = Path(path).read_bytes()
        for other in (content[:-2], b"\x80\x04N."):
            looking.path.write_bytes(other)
            try:
                looking.wb.load(looking.path)
            except looking.wb.WorkbenchError:
                continue


if __name__ == "__main__":
    main(sys.argv[1])
