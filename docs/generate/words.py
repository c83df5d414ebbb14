"""Every word over a column and beside a figure, as the tips of the view say it."""

from __future__ import annotations

from docs.generate.pages import Page
from workbench.glossary import ANY_WORD, ANYWHERE, Term, read_glossary
from workbench.views.panes.registry import list_panes

_HEAD = """# Words

What stands over a column or beside a figure: the tip over it says the same. `workbench words`
prints this table, `workbench words occupancy` a part of it. Where a word is not listed for its
place, it means what it means anywhere.
"""
_TITLES = {
    ANYWHERE: "Anywhere",
    "figures": "Details of the Overview",
    "chips": "Chips of the Overview",
    "tree": "Where the cost goes",
    "source": "The source with its cost",
    "costs": "Kernels",
    "kernel": "A kernel, and a configuration of it",
    "groups": "Fusion: kernels and library calls",
    "rejected": "Fusion: pairs apart",
    "cuda_graphs": "CUDA graphs",
    "guards": "Guards",
    "recompiles": "Compiled again",
    "break": "A graph break",
    "storages": "Memory",
    "accesses": "Accesses",
    "collectives": "Streams: collectives",
    "deviations": "Numerics",
    "budgets": "Memory budgets",
    "phases": "Timeline",
    "choices": "Autotune: what was timed",
    "ranked": "Autotune: what a model ranked",
    "plane": "Autotune: two sizes",
    "points": "Roofline",
    "matrix": "Matrix",
    "members": "Artifact: members",
    "requirements": "Artifact: what it needs",
    "contract": "Artifact: what it takes and gives",
    "leaves": "Artifact: outputs beside eager",
    "ways": "Artifact: ways to a first result",
    "nodes": "Graphs",
    "file": "Artifact: facts",
    "opcode": "An instruction",
    "sweep": "Sweep",
    "compiles": "Session: compiles",
    "breaks": "Session: graph breaks",
    "fallbacks": "Session: what runs eagerly",
    "regions": "Session: calls of compiled graphs",
    "steps": "Session: steps",
    "diff": "Two compilations compared",
    "tried": "A change that was tried",
}


def pages() -> list[Page]:
    """One page, a section for each place."""
    sections = "\n\n".join("\n".join(_section(place)) for place in _places())
    return [Page("reference/words.md", "Words", f"{_HEAD}\n{sections}\n")]


def _places() -> list[str]:
    return list(dict.fromkeys(term.place for term in read_glossary().values()))


def _section(place: str) -> list[str]:
    terms = [term for term in read_glossary().values() if term.place == place]
    lines = [f"## {_TITLES[place]} {{ #{place} }}", ""]
    lines += ["| word | what it is | unit | source |", "| --- | --- | --- | --- |"]
    return lines + [_row(term) for term in terms]


def _row(term: Term) -> str:
    titles: dict[str, str] = {pane.id: pane.title for pane in list_panes()}
    word = titles.get(term.word, term.word) if term.place == "chips" else term.word
    name = "*any other*" if word == ANY_WORD else word
    return f"| {name} | {term.what}. | {term.unit} | {term.source} |"
