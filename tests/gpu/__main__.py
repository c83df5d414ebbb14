"""Says what the GPU tests will do on this machine, then does it: `python -m tests.gpu`."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
import torch

HERE = Path(__file__).parent
NOTHING_RAN = int(pytest.ExitCode.NO_TESTS_COLLECTED)
"""Exit code 5, as pytest's: without a GPU nothing was tested, and that is no success."""


def main(arguments: list[str]) -> int:
    """Every test in `tests/gpu`, none excluded by a marker; the exit code is pytest's."""
    if not torch.cuda.is_available():
        print(f"No GPU that torch {torch.__version__} can use is here: no test of tests/gpu runs.")
        return NOTHING_RAN
    device, build = torch.cuda.get_device_name(), torch.version.cuda or torch.version.hip
    print(f"Runs every test of tests/gpu on {device}, torch {torch.__version__}, {build}.")
    return int(pytest.main([str(HERE), *arguments]))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
