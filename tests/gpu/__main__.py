"""Says what the GPU tests will do on this machine, then does it: `python -m tests.gpu`."""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import sys
from pathlib import Path

import torch

from tests.gpu.parts import Part, run_parts
from tests.gpu.record import PATH, GpuRecord

HERE = Path(__file__).parent
NOTHING_RAN = 5
"""pytest's exit code for no tests: without a GPU nothing was tested, and that is no success."""

WORKBENCH = (
    *("numpy", "triton", "safetensors", "pandas", "matplotlib", "jinja2", "markupsafe"),
    *("pygments", "cloudpickle"),
)
"""What compiling, measuring and saving import; notebooks and logs need more."""
_PLUGINS = ("-p", "no:cacheprovider", "-p", "tests.gpu.counting")
TESTS = (sys.executable, "-m", "pytest", "-q", *_PLUGINS, str(HERE))


def _part(name: str, module: str, estimate: int, limit: int, *, is_timed: bool = False) -> Part:
    command = (sys.executable, "-m", f"tests.gpu.{module}")
    return Part(name, command, WORKBENCH, estimate, limit, is_timed)


PARTS = (
    Part("tests", TESTS, ("pytest", *WORKBENCH), estimate=60, limit=150),
    _part("programs", "same_programs", estimate=110, limit=200),
    _part("files", "files", estimate=80, limit=150),
    _part("packages", "packages", estimate=100, limit=200),
    _part("memory", "memory", estimate=60, limit=150),
    _part("profile", "profiling", estimate=20, limit=60, is_timed=True),
    _part("bounds", "bounds", estimate=85, limit=150, is_timed=True),
    _part("forecasts", "forecasts", estimate=120, limit=300, is_timed=True),
    _part("modes", "modes", estimate=60, limit=120, is_timed=True),
    _part("verdicts", "verdicts", estimate=90, limit=200, is_timed=True),
)


def main(arguments: list[str], parts: tuple[Part, ...] = PARTS, path: Path = PATH) -> int:
    """0 when every part ran and reached its values, 1 when not, 5 when nothing ran."""
    parser = argparse.ArgumentParser(prog="python -m tests.gpu")
    parser.add_argument("--show", action="store_true", help="print the figures of the last run")
    parser.add_argument("--page", action="store_true", help="put them into the docs as a table")
    parser.add_argument("part", nargs="*", help="run these alone, and keep the figures of others")
    asked = parser.parse_args(arguments)
    if unknown := {*asked.part} - {part.name for part in parts}:
        parser.error(f"there is no part {', '.join(sorted(unknown))}")
    if asked.show or asked.page:
        if not path.exists():
            print("No run on a GPU has written figures yet: `python -m tests.gpu` on one does.")
            return NOTHING_RAN
        record = GpuRecord.load(path)
        if asked.page:
            from tests.gpu import page  # a run on a GPU needs nothing of the docs

            page.write(record)
        print(record.table())
        return 0
    if not torch.cuda.is_available():
        print(f"No GPU that torch {torch.__version__} can use is here: no test of tests/gpu runs.")
        return NOTHING_RAN
    found = what_is_here()
    record = GpuRecord(found)
    if asked.part:
        parts = tuple(part for part in parts if part.name in asked.part)
        if path.exists():
            record = GpuRecord.load(path)
            if record.found != found:
                print(f"The figures of the last run are of {record.found}: run all parts.")
                return 1
            record.forget(asked.part)
    print(first_line(found, parts), flush=True)
    done = run_parts(parts, record, path)
    print(record.table())
    if all(part.missing() for part in parts):
        return NOTHING_RAN
    return 0 if done else 1


def what_is_here() -> dict[str, str]:
    """The device with the versions that the figures depend on."""
    spec = importlib.util.find_spec("triton")
    triton = "missing"
    if spec is not None:
        triton = str(importlib.import_module("triton").__version__)
    build = torch.version.cuda or torch.version.hip or "none"
    names = {"device": torch.cuda.get_device_name(), "torch": str(torch.__version__)}
    return {**names, "build": build, "triton": triton}


def first_line(found: dict[str, str], parts: tuple[Part, ...]) -> str:
    """What is here, which parts run in which time, which are left out for what is missing."""
    here = f"{found['device']}, torch {found['torch']}, {found['build']}, triton {found['triton']}"
    able = [part for part in parts if not part.missing()]
    beside = max((part.estimate for part in able if not part.is_timed), default=0)
    seconds = beside + sum(part.estimate for part in able if part.is_timed)
    names = ", ".join(part.name for part in able) or "nothing"
    left = [f"{part.name} ({', '.join(part.missing())})" for part in parts if part.missing()]
    out = f" Left out for missing packages: {'; '.join(left)}." if left else ""
    return f"Runs {names} on {here}: about {seconds} s.{out}"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
