"""What is wrong with the links of a built site: `python -m docs.generate.links FOLDER`."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

_LOADS = {"script": "src", "img": "src", "link": "href", "iframe": "src", "source": "src"}
"""What a page loads by itself: none of it may be on another host."""
_NOT_LOADED = {"canonical", "prev", "next"}  # links that only say something


class _Links(HTMLParser):
    """The links, the loaded files and the ids of one page."""

    def __init__(self) -> None:
        super().__init__()
        self.links: list[str] = []
        self.loads: list[str] = []
        self.ids = {""}

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        self.ids.add(given.get("id", ""))
        if tag == "a" and "href" in given:
            self.links.append(given["href"])
        address = given.get(_LOADS.get(tag, ""), "")
        if address and given.get("rel") not in _NOT_LOADED:
            self.loads.append(address)


def problems(site: Path) -> list[str]:
    """A sentence for each link that leads nowhere, and for each file that is not on the site."""
    pages = {path: _read(path) for path in sorted(site.rglob("*.html"))}
    ids = {path: page.ids for path, page in pages.items()}
    found = []
    for path, page in pages.items():
        name = path.relative_to(site)
        outside = [address for address in page.loads if urlsplit(address).netloc]
        found += [f"{name} loads {address} from another host." for address in outside]
        for address in (*page.links, *page.loads):
            found += [f"{name}: {address} {wrong}" for wrong in _wrong(path, address, ids, site)]
    return list(dict.fromkeys(found))


def _read(path: Path) -> _Links:
    page = _Links()
    page.feed(path.read_text(encoding="utf-8"))
    return page


def _wrong(page: Path, address: str, ids: dict[Path, set[str]], site: Path) -> Iterator[str]:
    parts = urlsplit(address)
    if parts.scheme or parts.netloc:
        return
    below = site if parts.path.startswith("/") else page.parent
    target = page if not parts.path else (below / unquote(parts.path).lstrip("/")).resolve()
    if target.is_dir():
        target = target / "index.html"
    if not target.is_file():
        yield "is not there."
    elif target in ids and unquote(parts.fragment) not in ids[target]:
        yield f"has no part {parts.fragment!r}."


if __name__ == "__main__":
    site = Path(sys.argv[1]).resolve()
    wrong = problems(site)
    print("\n".join(wrong) or f"{site}: every link leads somewhere, nothing is on another host.")
    sys.exit(bool(wrong))
