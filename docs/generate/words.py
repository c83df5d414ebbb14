"""The glossary: `python -m docs.generate.words` writes `docs/pages/guide/glossary.md`."""

from __future__ import annotations

from docs.generate.pages import WRITTEN
from workbench.glossary import ANY_WORD, ANYWHERE, Term, read_glossary
from workbench.views.panes.registry import list_panes

GLOSSARY = "guide/glossary.md"
_HEAD = """# Glossary

The first table has the concepts. The others explain column heads and figures, with the text of
their tooltips. A word that is not listed for its table has its meaning from *Anywhere*. `workbench
words occupancy` prints one entry.
"""
_TITLES = {
    "concepts": "Concepts",
    ANYWHERE: "Anywhere",
    "figures": "Details of the Overview",
    "chips": "Chips of the Overview",
    "tree": "Where the cost goes",
    "source": "The source with its cost",
    "costs": "Kernels",
    "kernel": "A kernel, and a configuration of it",
    "groups": "Fusion: kernels and library calls",
    "rejected": "Fusion: not fused",
    "cuda_graphs": "CUDA graphs",
    "guards": "Guards",
    "recompiles": "Recompilations",
    "break": "A graph break",
    "storages": "Memory",
    "accesses": "Accesses",
    "collectives": "Streams: collectives",
    "deviations": "Numerics",
    "budgets": "Memory budgets",
    "phases": "Compile time",
    "choices": "Tuning: what was timed",
    "ranked": "Tuning: what a model ranked",
    "plane": "Tuning: two sizes",
    "points": "Roofline",
    "matrix": "Matrix",
    "members": "Artifact: members",
    "requirements": "Artifact: what it needs",
    "contract": "Artifact: what it takes and gives",
    "leaves": "Artifact: outputs and eager",
    "ways": "Artifact: start-up modes",
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


def write_glossary() -> str:
    """The page, a section for each place."""
    sections = "\n\n".join("\n".join(_section(place)) for place in _places())
    return f"{_HEAD}\n{sections}\n"


def _places() -> list[str]:
    return list(dict.fromkeys(term.place for term in read_glossary().values()))


def _section(place: str) -> list[str]:
    terms = [term for term in read_glossary().values() if term.place == place]
    lines = [f"## {_TITLES[place]}", ""]
    lines += ["| word | what it is | unit | source |", "| --- | --- | --- | --- |"]
    return lines + [_row(term) for term in terms]


def _row(term: Term) -> str:
    titles: dict[str, str] = {pane.id: pane.title for pane in list_panes()}
    word = titles.get(term.word, term.word) if term.place == "chips" else term.word
    name = "*any other*" if word == ANY_WORD else word
    return f"| {name} | {term.what}. | {term.unit} | {term.source} |"


if __name__ == "__main__":
    (WRITTEN / GLOSSARY).write_text(write_glossary(), encoding="utf-8")
