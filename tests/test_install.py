"""`make lab` takes a Python that fits, and no gigabytes of CUDA where there is no GPU."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import install

CUDA_BUILD = ["filelock", 'nvidia-cublas==13.0.0; platform_system == "Linux"']
CPU_BUILD = ["filelock", "sympy>=1.13.3", 'nvidia-extras; extra == "extras"']
ROOT = Path(install.__file__).parent


def test_the_tested_release_comes_first() -> None:
    path, why = install.choose(lambda version: Path(f"python{version}"))
    assert path.name == "python3.11"
    assert "the release that constraints.txt was tested with" in why


def test_another_release_is_taken_where_the_tested_one_is_missing() -> None:
    path, why = install.choose(lambda version: Path("newer") if version == "3.12" else None)
    assert path.name == "newer"
    assert why.startswith("Python 3.12: there is no Python 3.11")


def test_no_release_that_fits_is_an_error_that_says_what_to_do() -> None:
    with pytest.raises(LookupError, match=r"no Python 3.11, 3.12, 3.13 or 3.14 here: install one"):
        install.choose(lambda version: None)


def test_this_interpreter_is_found_and_a_release_that_nobody_has_is_not() -> None:
    assert install.release_of(Path(sys.executable)) == ".".join(map(str, sys.version_info[:2]))
    assert install.find_interpreter("3.2") is None


@pytest.mark.skipif(sys.platform != "linux", reason="torch's CUDA packages are for Linux")
def test_a_build_with_cuda_is_refused_where_there_is_no_gpu() -> None:
    why = install.refusal(CUDA_BUILD, "2.13.0", gpu=False, asked=False)
    assert why.startswith("No GPU is here, and torch 2.13.0 of this index brings gigabytes")
    assert "TORCH_INDEX=URL" in why
    assert "TORCH_CUDA=1" in why


def test_it_is_taken_with_a_gpu_or_when_asked_for_and_a_cpu_build_always() -> None:
    assert not install.refusal(CUDA_BUILD, "2.13.0", gpu=True, asked=False)
    assert not install.refusal(CUDA_BUILD, "2.13.0", gpu=False, asked=True)
    assert not install.refusal(CPU_BUILD, "2.13.0+cpu", gpu=False, asked=False)


def test_what_pip_cannot_find_ends_with_its_own_words(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(ROOT)
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.delenv("PIP_FIND_LINKS", raising=False)
    assert install.install_torch("", cuda=False) == 1
    said = capfd.readouterr()
    assert "torch" in said.err
    assert "Traceback" not in said.err


def test_the_command_prints_an_interpreter_for_make_and_says_why_beside_it() -> None:
    command = [sys.executable, "install.py", "python"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    assert Path(done.stdout.strip()).exists()
    assert done.stderr.startswith("Python 3.")
