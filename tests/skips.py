"""Skips that a continuous integration accepts: under `CI` every other one fails.

A test that is not run because the machine lacks something looks like one that passed. Elsewhere
a skip stays a skip; the summary (`-ra`) names each with its reason.
"""

from __future__ import annotations

import os
import re
from collections.abc import Generator, Mapping
from typing import Any

import pytest

ALLOWED: Mapping[str, str] = {
    r"the (artifact|package) needs .+": "files of an older release need its torch and processor",
    r"this release of Inductor does not have the fault": "torch 2.13 has it, later ones may not",
    r"Firefox is not installed: .+": "Chromium is the browser of the tests, Firefox opens one page",
    r"WebKit is not installed: .+": "the same; it needs a display (Xvfb), too",
    r"torch before \d+\.\d+: .+": "what an older release does otherwise, or not",
    r"Helion is not installed": "it writes Triton for a GPU; a stand-in says what it may answer",
    r"triton-viz is not installed": "it brings a web server; stand-ins say what it may answer",
    r"npm's packages are not installed": "`make check` and `make frontend` install them",
    r"the guess is for AVX2 and g\+\+": "a processor with AVX-512 takes another way",
}
"""Patterns of the whole reason of a skip that a machine of a CI may have, each with why."""


def failure(reason: str) -> str | None:
    """What is wrong with a skip on this machine; None where it is accepted."""
    accepted = any(re.fullmatch(pattern, reason) for pattern in ALLOWED)
    if accepted or not os.environ.get("CI"):
        return None
    return (
        f"skipped under CI: {reason}\nInstall what is missing, or add the reason to ALLOWED in "
        "tests/skips.py with why a CI may lack it."
    )


def _judge(report: Any) -> Any:
    """Fail a report of a skip that is not accepted; an expected failure is no skip."""
    if report.skipped and not hasattr(report, "wasxfail"):
        place = report.longrepr
        reason = place[2] if isinstance(place, tuple) else str(place)
        message = failure(reason.removeprefix("Skipped: "))
        if message is not None:
            report.outcome, report.longrepr = "failed", message
    return report


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, Any, Any]:
    """Judge the skip of a test, or of a fixture that it asks for."""
    return _judge((yield))


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report() -> Generator[None, Any, Any]:
    """Judge the skip of a whole file or folder."""
    return _judge((yield))
