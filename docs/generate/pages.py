"""The README as pages: the way in on the first one, each later section on one of its own."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
ABOUT = {"Beside other tools": "tools", "Figures": "figures", "Working on it": "contributing"}
"""Sections that are about the project; the others between them and the notebooks are a guide."""
_ALONE = (
    "---\nhide: [toc]\n---\n\n"  # one section has no contents to list: its tables have the room
)
_HOME_ENDS = "Notebooks"
_LINK = re.compile(r"(!?)\[([^\]]*)\]\(([^)]+)\)")
_FIGURES = re.compile(r"<!-- .*? -->\n?")


@dataclass(frozen=True)
class Page:
    """One generated page: its place below the site's root, its title, its Markdown."""

    path: str
    title: str
    text: str


def pages(readme: str) -> list[Page]:
    """The pages that a README becomes, the first being the way in."""
    head, *sections = re.split(r"^## ", readme, flags=re.MULTILINE)
    titles = [section.partition("\n")[0].strip() for section in sections]
    last = titles.index(_HOME_ENDS) + 1
    home = "## ".join([head, *sections[:last]])
    found = [Page("index.md", "Start", _linked(home, ""))]
    for title, section in zip(titles[last:], sections[last:], strict=True):
        folder = "about" if title in ABOUT else "guide"
        name = ABOUT.get(title) or slug(title)
        text = _FIGURES.sub("", f"{_ALONE}# {section}")
        found.append(Page(f"{folder}/{name}.md", title, _linked(text, "../")))
    return found


def slug(title: str) -> str:
    """A title as the name of a file."""
    return re.sub(r"\W+", "-", title.lower()).strip("-")


def notebook_titles(readme: str) -> dict[str, str]:
    """What it calls each notebook, by the name of its file."""
    found = {target: label for _, label, target in _LINK.findall(readme)}
    return {Path(target).name: label for target, label in found.items() if ".ipynb" in target}


def pictures(readme: str) -> list[str]:
    """The pictures that it shows, by their paths below the root."""
    return sorted({target for is_image, _, target in _LINK.findall(readme) if is_image})


def _linked(text: str, up: str) -> str:
    """The text with links to pages of the site; a file that has no page stays as its name."""

    def link(match: re.Match[str]) -> str:
        mark, label, target = match.groups()
        if target.startswith("notebooks/"):
            return f"[{label}]({up}{target.removesuffix('.ipynb')}.md)"
        if mark or "://" in target:
            return f"{mark}[{label}]({target if '://' in target else up + target})"
        return f"`{target}`"

    return _LINK.sub(link, text)
