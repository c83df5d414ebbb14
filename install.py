"""Which Python and which build of torch `make` installs; needs nothing but Python itself.

`python3 install.py python` prints an interpreter, `.venv/bin/python install.py torch` installs.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from shutil import which

TESTED = "3.11"
"""The release that the versions in constraints.txt were tested with."""
FITTING = (TESTED, "3.12", "3.13", "3.14")
"""Releases that the workbench was tested with, the best first."""
FAILED = 2
PIP = (sys.executable, "-m", "pip", "install", "--quiet", "--constraint", "constraints.txt")


def find_interpreter(version: str) -> Path | None:
    """The interpreter of a minor release, on the path or from pyenv; None when there is none."""
    found = which(f"python{version}")
    candidates = [Path(found)] if found else []
    pyenv = which("pyenv")
    if pyenv:
        asked = subprocess.run([pyenv, "root"], capture_output=True, text=True, check=True)
        versions = Path(asked.stdout.strip()) / "versions"
        candidates += sorted(versions.glob(f"{version}.*/bin/python"), reverse=True)
    return next((path for path in candidates if release_of(path) == version), None)


def release_of(interpreter: Path) -> str:
    """The minor release that it is; a shim of pyenv that leads nowhere says nothing."""
    code = "import sys; print('%d.%d' % sys.version_info[:2])"
    asked = subprocess.run([interpreter, "-c", code], capture_output=True, text=True, check=False)
    return asked.stdout.strip()


def choose(find: Callable[[str], Path | None] = find_interpreter) -> tuple[Path, str]:
    """The first interpreter that fits, with the reason.

    Raises `LookupError` when none is here.
    """
    for version in FITTING:
        if path := find(version):
            why = (
                "the release that constraints.txt was tested with"
                if version == TESTED
                else f"there is no Python {TESTED}, which constraints.txt was tested with"
            )
            return path, f"Python {version}: {why}. PYTHON=… chooses another."
    listed = f"{', '.join(FITTING[:-1])} or {FITTING[-1]}"
    raise LookupError(
        f"There is no Python {listed} here: install one, or name the path of another with PYTHON=…."
    )


def needs_cuda(requirements: Iterable[str]) -> bool:
    """Whether packages of CUDA are among what a build of torch asks for on this system."""
    names = ("nvidia-", "cuda-")
    here = (line for line in requirements if "Linux" not in line or sys.platform == "linux")
    return any(line.startswith(names) and "extra ==" not in line for line in here)


def has_gpu() -> bool:
    """Whether NVIDIA's driver shows a GPU."""
    return Path("/dev/nvidia0").exists() or Path("/dev/dxg").exists()  # the latter in WSL


def refusal(requirements: Iterable[str], version: str, gpu: bool, asked: bool) -> str:
    """Why a build of torch is not installed; empty where it is."""
    if gpu or asked or not needs_cuda(requirements):
        return ""
    return (
        f"No GPU is here, and torch {version} of this index brings gigabytes of CUDA packages, so "
        "nothing was installed. TORCH_INDEX=URL names the index of torch's CPU builds; "
        "TORCH_CUDA=1 takes the CUDA build all the same."
    )


def install_torch(index: str, cuda: bool) -> int:
    """Install torch of constraints.txt into this environment, or say why it is not done."""
    wanted = [*(("--index-url", index) if index else ()), "torch"]
    dry = subprocess.run(
        [*PIP, "--dry-run", "--no-deps", "--ignore-installed", "--report", "-", *wanted],
        stdout=subprocess.PIPE,
        text=True,
        check=False,
    )
    if dry.returncode:
        return dry.returncode  # pip has said why
    metadata = json.loads(dry.stdout)["install"][0]["metadata"]
    version, requirements = metadata["version"], metadata.get("requires_dist", [])
    if why := refusal(requirements, version, has_gpu(), cuda):
        print(why, file=sys.stderr)
        return FAILED
    build = "with CUDA" if needs_cuda(requirements) else "without CUDA"
    here = "a GPU is here" if has_gpu() else "no GPU is here"
    print(f"torch {version}, {build}: {'as asked' if cuda or index else here}.")
    return subprocess.run([*PIP, *wanted], check=False).returncode


def main(arguments: list[str]) -> int:
    """Do what is asked: `python`, or `torch INDEX CUDA` where both may be empty."""
    if arguments[0] == "torch":
        index, cuda = arguments[1:]
        return install_torch(index, bool(cuda))
    try:
        path, why = choose()
    except LookupError as error:
        print(error, file=sys.stderr)
        return FAILED
    print(why, file=sys.stderr)
    print(path)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
