"""The colours of kernels and of kinds of memory can be told apart, also by colour-blind readers."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import combinations
from pathlib import Path

import pytest

from tests.views.charts.test_report_charts import contrast
from workbench.views.kit.sheet import KERNEL_COLOURS

TOKENS = Path(__file__).parents[2] / "assets" / "frontend" / "src" / "css" / "tokens.css"
LEAST = 8.0  # a hundredth of OKLab's unit of lightness; 2 is just seen side by side
GROUNDS = {"light": "#ffffff", "dark": "#15181c"}

# Machado, Oliveira and Fernandes 2009, severity 1, for linear RGB
SIGHTS = {
    "normal": ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)),
    "deuteranopia": (
        (0.367322, 0.860646, -0.227968),
        (0.280085, 0.672501, 0.047413),
        (-0.011820, 0.042940, 0.968881),
    ),
    "protanopia": (
        (0.152286, 1.052583, -0.204868),
        (0.114503, 0.786281, 0.099216),
        (-0.003882, -0.048116, 1.051998),
    ),
}


def read_tokens(theme: str) -> dict[str, str]:
    """The colours of kernels and the grey of what the caller holds."""
    light, dark = re.findall(r"--g0: .*?--g7: #\w{6}", TOKENS.read_text(), re.DOTALL)
    greys = re.findall(r"--control: (#\w{6})", TOKENS.read_text())
    text, grey = (light, greys[0]) if theme == "light" else (dark, greys[1])
    return {**dict(re.findall(r"--(g\d): (#\w{6})", text)), "grey": grey}


def see(colour: str, sight: str) -> list[float]:
    """The place of a colour in OKLab, as it is seen."""
    channels = (int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5))
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    red, green, blue = (min(1.0, max(0.0, dot(row, linear))) for row in SIGHTS[sight])
    cones = [
        dot(row, (red, green, blue)) ** (1 / 3)
        for row in (
            (0.4122214708, 0.5363325363, 0.0514459929),
            (0.2119034982, 0.6806995451, 0.1073969566),
            (0.0883024619, 0.2817188376, 0.6299787005),
        )
    ]
    return [
        dot(row, cones)
        for row in (
            (0.2104542553, 0.7936177850, -0.0040720468),
            (1.9779984951, -2.4285922050, 0.4505937099),
            (0.0259040371, 0.7827717662, -0.8086757660),
        )
    ]


def dot(one: Sequence[float], other: Sequence[float]) -> float:
    return sum(a * b for a, b in zip(one, other, strict=True))


def measure(one: str, other: str, sight: str) -> float:
    pairs = zip(see(one, sight), see(other, sight), strict=True)
    return 100 * sum((a - b) ** 2 for a, b in pairs) ** 0.5


@pytest.mark.parametrize("sight", SIGHTS)
@pytest.mark.parametrize("theme", GROUNDS)
def test_no_two_colours_of_a_theme_merge(theme: str, sight: str) -> None:
    """As seen: temporary storages and library results were one colour in deuteranopia."""
    colours = read_tokens(theme)
    assert len(colours) == 9
    near = {
        (one, other): round(measure(colours[one], colours[other], sight), 1)
        for one, other in combinations(colours, 2)
        if measure(colours[one], colours[other], sight) < LEAST
    }
    assert near == {}


@pytest.mark.parametrize("theme", GROUNDS)
def test_every_colour_is_seen_on_its_ground(theme: str) -> None:
    colours = read_tokens(theme)
    assert {name for name, c in colours.items() if contrast(c, GROUNDS[theme]) < 3} == set()


@pytest.mark.parametrize("sight", SIGHTS)
def test_the_colours_of_pictures_do_not_merge(sight: str) -> None:
    assert all(measure(a, b, sight) > LEAST for a, b in combinations(KERNEL_COLOURS, 2))
