"""Records `assets/scores_h100.wbr`, kernels for a virtual GPU: `-m tests.record_scores`.

The report of the README's pictures: on five GPUs, with the ranked configurations of one kernel.
"""

from __future__ import annotations

from pathlib import Path

from tests.browser.screenshots import gpu_report

RECORD = Path(__file__).parents[1] / "assets" / "scores_h100.wbr"


def main() -> None:
    """Compile and write the record."""
    gpu_report().save(RECORD)


if __name__ == "__main__":
    main()
