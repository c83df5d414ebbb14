"""Rules for a sentence that a PyTorch engineer reads once: `python -m tests.words.rules [PATH]`."""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping

from tests.words.sentences import Sentence, list_sentences
from workbench.glossary import list_field_terms

OF_PRODUCT = {"error", "sentence", "term", "front end", "output"}
_FIRST = (
    r"Named|Compared|Chosen|Asked for|Asked|Told|Kept|Counted|Known|Not in it\**|Not checked\**|"
    r"Not compared|Left out|Missing|Behind|Beyond|Below it|Beside (it|that|them)|Elsewhere|There|"
    r"Not"
)
_TOOLS = r"torch|Triton|Inductor|NVIDIA|Gluon|tritonparse|AMD|NCCL|transformers|an H\d|a [BTHA]\d"
_MADE_BY_TOOLS = r"log|kernel|option|trace|driver|pass|call|graph|release|build"


def _find(pattern: str) -> Callable[[str], bool]:
    compiled = re.compile(pattern)
    return lambda text: compiled.search(text) is not None


def _opens_with_what(text: str) -> bool:
    is_clause = re.match(r"\**What\b[^?]*$", text) is not None
    return is_clause and len(text.split()) > 6


RULES: Mapping[str, Callable[[str], bool]] = {
    "opens with Of": _find(r"^(\*\*)?Of [a-z`*A-Z]"),
    "opens with its predicate": _find(
        rf"^\**({_FIRST})\b[^.]{{0,40}}? (is|are|was|were|stand|stands|has|have|takes?)\b"
    ),
    "opens with a What clause": _opens_with_what,
    "is no": _find(r"\b(is|are|was|were) no (?!longer|more\b|such)\w"),
    "told": _find(r"\b(told|tells?)\b"),
    "stands, lies": _find(r"\b(stands?|stood|lies|lie|lay)\b(?! out| for)"),
    "no more": _find(r"\bno more\b|\bany more\b"),
    "archaic": _find(
        r"\banew\b|\bfor ever\b|\b(in|out)side of\b|\bbeside\b|\bwhoever\b|\bthereafter\b|"
        r"one's own|(^|[;,:] )[Ee]lse\b|\bso that\b|\bneed not\b|\bof it is\b|\bnothing of it\b"
    ),
    "tool after of": _find(rf"\b({_MADE_BY_TOOLS})(s|es)? of ({_TOOLS})"),
    "two semicolons or colons": lambda text: len(re.findall(r"[;:](?=\s)", text)) > 1,
    "four times of": lambda text: len(re.findall(r"\bof\b", text)) >= 4,
}


def list_hits(sentence: Sentence) -> Iterator[str]:
    """The rules that a sentence breaks; code in backquotes is not read."""
    text = re.sub(r"`[^`]*`", "x", sentence.text)
    most = 25 if sentence.kind in OF_PRODUCT else 30
    if len(sentence.text.split()) > most:
        yield f"longer than {most} words"
    yield from (name for name, is_broken in RULES.items() if is_broken(text))
    if sentence.kind == "term" and re.match(r"(Of|By|That|If|At|On|From|With|The same)\b", text):
        yield "a term opens with a preposition"
    yield from (f"{term.word}: {term.instead}" for term in list_field_terms() if term.is_in(text))


def main(part: str = "") -> None:
    """Print the hits in files whose path has a part, then the shares by kind."""
    hit, count = Counter[str](), Counter[str]()
    for sentence in list_sentences():
        hits = [*list_hits(sentence)]
        count[sentence.kind] += 1
        hit[sentence.kind] += bool(hits)
        if part and hits and part in sentence.file:
            print(f"{sentence.file}: {', '.join(hits)}: {sentence.text}")
    for kind, number in count.items():
        print(f"{hit[kind]:6d} of {number} ({hit[kind] / number:.1%}) {kind}")
    print(f"{hit.total()} of {count.total()} ({hit.total() / count.total():.1%})")


if __name__ == "__main__":
    main(*sys.argv[1:])
