"""What mkdocs asks while it builds: the generated pages, their order, the notebooks' outputs."""

from __future__ import annotations

import re
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

from docs.generate import notebooks, readme, reference

_README = readme.ROOT / "README.md"
_EMPTY_HEAD = re.compile(r"<thead>\s*<tr>(?:\s*<th></th>)+\s*</tr>\s*</thead>")


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """The order of the pages."""
    text = _README.read_text(encoding="utf-8")
    home, *others = readme.pages(text)
    by_folder: dict[str, list[Any]] = {"guide": [], "about": []}
    for page in others:
        by_folder[page.path.partition("/")[0]].append({page.title: page.path})
    titles = readme.notebook_titles(text)
    named = [{titles[path.name]: _page_of(path.stem)} for path in notebooks.notebooks()]
    config.nav = [
        {home.title: home.path},
        {"Notebooks": named},
        {"Guide": by_folder["guide"]},
        {"Reference": [{page.title: page.path} for page in reference.pages()]},
        {"About": by_folder["about"]},
    ]
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """The pages that are generated, and the files that they show."""
    text = _README.read_text(encoding="utf-8")
    for page in (*readme.pages(text), *reference.pages()):
        files.append(File.generated(config, page.path, content=page.text))
    for path in notebooks.notebooks():
        made = notebooks.markdown(path)
        files.append(File.generated(config, _page_of(path.stem), content=made))
        files.append(File.generated(config, f"notebooks/{path.name}", abs_src_path=str(path)))
    for picture in readme.pictures(text):
        source = str(readme.ROOT / picture)
        files.append(File.generated(config, picture, abs_src_path=source))
    return files


def on_page_content(html: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """A notebook's page with its outputs: their scripts and records are no Markdown."""
    html = _EMPTY_HEAD.sub("", html).replace("<th></th>", "<td></td>")
    path = notebooks.FOLDER / f"{page.file.name}.ipynb"
    is_notebook = page.file.src_uri == _page_of(path.stem)
    return notebooks.with_outputs(html, path) if is_notebook else html


def on_post_page(output: str, page: Page, config: MkDocsConfig) -> str:
    """A page whose search has a name."""
    return output.replace('role="dialog"', 'role="dialog" aria-label="Search"', 1)


def _page_of(stem: str) -> str:
    return f"notebooks/{stem}.md"
