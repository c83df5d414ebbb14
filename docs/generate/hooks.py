"""What mkdocs asks while it builds: the generated pages, their order, the notebooks' outputs."""

from __future__ import annotations

import re

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

from docs.generate import notebooks, pages, reference

_EMPTY_HEAD = re.compile(r"<thead>\s*<tr>(?:\s*<th></th>)+\s*</tr>\s*</thead>")
_WRITTEN = (pages.HOME, pages.WHICH, *pages.GUIDE, *pages.ABOUT)


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """The order of the pages."""
    titles = pages.notebook_titles()
    named = [{titles[path.name]: _page_of(path.stem)} for path in notebooks.notebooks()]
    config.nav = [
        {"Start": pages.HOME},
        {pages.title(pages.WHICH): pages.WHICH},
        {"Notebooks": named},
        {"Guide": [{pages.title(page): page} for page in pages.GUIDE]},
        {"Reference": [{page.title: page.path} for page in reference.pages()]},
        {"About": [{pages.title(page): page} for page in pages.ABOUT]},
    ]
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """The pages that are generated or lie elsewhere, and the files that they show."""
    for page, name in pages.BESIDE.items():
        files.append(File.generated(config, page, content=(pages.ROOT / name).read_text()))
    for made in reference.pages():
        files.append(File.generated(config, made.path, content=made.text))
    for path in notebooks.notebooks():
        files.append(File.generated(config, _page_of(path.stem), content=notebooks.markdown(path)))
        files.append(File.generated(config, f"notebooks/{path.name}", abs_src_path=str(path)))
    for picture in pages.pictures():
        source = str(pages.ROOT / picture)
        files.append(File.generated(config, picture, abs_src_path=source))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """A written page with links of the site; one without sections gives its contents' room away."""
    path = page.file.src_uri
    if path not in _WRITTEN:
        return markdown
    if "\n## " not in markdown:
        page.meta.setdefault("hide", ["toc"])
    return pages.linked(path, markdown)


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
