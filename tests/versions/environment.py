"""An environment of its own for one Python with one release of torch: `make test-versions`."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from install import find_interpreter

ROOT = Path(__file__).parents[2]
NO_INTERPRETER = 2


def main(arguments: list[str]) -> int:
    """Make the environment if need be and run the suite in it: PYTHON, TORCH, INDEX, the parts."""
    python, torch, index, *parts = arguments
    interpreter = find_interpreter(python)
    if interpreter is None:
        print(
            f"There is no Python {python} here, so nothing ran. Install it (`pyenv install "
            f"{python}` where there is pyenv), or name one that is here: "
            "make test-versions PYTHON=3.11 TORCH=2.13."
        )
        return NO_INTERPRETER
    folder = ROOT / f".venv-{python}-torch-{torch}"
    if not (folder / ".test").exists():
        install(interpreter, folder, torch, index)
    command = [str(folder / "bin" / "python"), "-m", "tests.versions", *parts]
    return subprocess.run(command, cwd=ROOT, check=False).returncode


def install(interpreter: Path, folder: Path, torch: str, index: str) -> None:
    """The project with a release of torch; the other packages are those of constraints.txt.

    Raises `subprocess.CalledProcessError` when a step fails.
    """
    subprocess.run([interpreter, "-m", "venv", folder], check=True)
    lines = (ROOT / "constraints.txt").read_text().splitlines(keepends=True)
    free = ("torch==", "triton==")  # torch names the release of Triton that it needs
    constraints = folder / "constraints.txt"
    constraints.write_text("".join(line for line in lines if not line.startswith(free)))
    pip = [str(folder / "bin" / "pip"), "install", "--quiet", "--constraint", str(constraints)]
    wanted = f"torch=={torch}.*"
    if index:
        subprocess.run([*pip, "--index-url", index, wanted], check=True)
    subprocess.run([*pip, wanted, "--editable", f"{ROOT}[lab,test]"], check=True)
    (folder / ".test").touch()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
