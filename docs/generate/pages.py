"""The written pages: the README, what lies beside it, and `docs/pages`, with their links."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

ROOT = Path(__file__).parents[2]
WRITTEN = ROOT / "docs" / "pages"
HOME, WHICH = "index.md", "which.md"
GUIDE = (
    "guide/how-it-works.md",
    "guide/the-view.md",
    "guide/virtual-gpus.md",
    "guide/sessions.md",
    "guide/memory.md",
    "guide/numerics.md",
    "guide/own-kernels.md",
    "guide/clusters.md",
    "guide/clusters-collectives.md",
    "guide/clusters-ranks.md",
    "guide/clusters-verification.md",
    "guide/clusters-fsdp.md",
    "guide/clusters-scaling.md",
    "guide/packages.md",
    "guide/sweeps.md",
    "guide/two-compilations.md",
    "guide/expectations.md",
    "guide/times.md",
    "guide/failures.md",
    "guide/troubleshooting.md",
    "guide/glossary.md",
)
ABOUT = (
    "about/limits.md",
    "about/security.md",
    "about/models.md",
    "about/figures.md",
    "about/modelled-times.md",
    "about/ranked-configurations.md",
    "about/real-code.md",
    "about/tools.md",
    "about/worlds.md",
    "about/contributing.md",
    "about/changes.md",
)
"""Pages in the order in which the site lists them."""
BESIDE = {
    HOME: "README.md",
    "about/contributing.md": "CONTRIBUTING.md",
    "about/changes.md": "CHANGELOG.md",
}
"""Pages whose text does not lie in `docs/pages`, with their file below the root."""
_LINK = re.compile(r"(!?)\[([^\]]*)\]\(([^)]+)\)")
_MARK = re.compile(r"<!-- .*? -->\n?")
_CODE = re.compile(r"(^```.*?^```$)", re.DOTALL | re.MULTILINE)


@dataclass(frozen=True)
class Page:
    """One generated page: its place below the site's root, its title, its Markdown."""

    path: str
    title: str
    text: str


def source(page: str) -> Path:
    """The file that a written page is made from."""
    return ROOT / BESIDE[page] if page in BESIDE else WRITTEN / page


def title(page: str) -> str:
    """What its first heading says."""
    return source(page).read_text(encoding="utf-8").partition("\n")[0].removeprefix("# ")


def notebook_titles() -> dict[str, str]:
    """What the README calls each notebook, by the name of its file."""
    found = {target: label for _, label, target in _LINK.findall(source(HOME).read_text())}
    return {Path(target).name: label for target, label in found.items() if ".ipynb" in target}


def targets(page: str) -> Iterator[tuple[str, Path]]:
    """The links of a page to files of this repository: as written, and the file."""
    for _, _, target in _LINK.findall(_CODE.sub("", source(page).read_text(encoding="utf-8"))):
        if "://" not in target and not target.startswith("#"):
            yield target, (source(page).parent / target.partition("#")[0]).resolve()


def pictures() -> list[str]:
    """The pictures that written pages show, by their paths below the root."""
    found = {file for page in (HOME, WHICH, *GUIDE, *ABOUT) for _, file in targets(page)}
    below = (file.relative_to(ROOT).as_posix() for file in found)
    return sorted(path for path in below if path.startswith("assets/"))


def linked(page: str, text: str) -> str:
    """Its text with links to pages of the site; a file that has no page stays as its name.

    In the repository the links lead from file to file, so that a page reads there as well.
    """

    def link(match: re.Match[str]) -> str:
        mark, label, target = match.groups()
        if "://" in target or target.startswith("#"):
            return match[0]
        path, _, part = target.partition("#")
        there = _on_site((source(page).parent / path).resolve())
        if there is None:
            return f"`{label.strip('`')}`"
        up = "../" * (len(PurePosixPath(page).parts) - 1)
        return f"{mark}[{label}]({up}{there}{'#' * bool(part)}{part})"

    parts = _CODE.split(_MARK.sub("", text))  # every second one is a listing
    return "".join(
        part if number % 2 else _LINK.sub(link, part) for number, part in enumerate(parts)
    )


def _on_site(file: Path) -> str | None:
    for page, name in BESIDE.items():
        if file == ROOT / name:
            return page
    if file.is_relative_to(WRITTEN):
        return file.relative_to(WRITTEN).as_posix()
    below = file.relative_to(ROOT)
    if below.parts[0] == "notebooks":
        return below.with_suffix(".md").as_posix()
    return below.as_posix() if below.parts[0] == "assets" else None
