"""Why an earlier variant did not fit: torch's sentence taken apart."""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass

_AGAINST = re.compile(r"^(?P<against>!?[\d/]+): (?P<rest>.*)$", re.DOTALL)
_COMMENT = re.compile(r"\s+#.*$", re.DOTALL)
_ON_PARAMETER = re.compile(r"\.? Guard failed on a parameter, consider using .*$")
PARAMETER = " (a parameter)"
_MISMATCH = re.compile(
    r"^tensor '(?P<source>.+?)' (?P<what>[\w ]+?) mismatch"
    r"(?: at index (?P<index>\d+))?\. expected (?P<expected>.+?), "
    r"actual (?P<actual>.+?)(?: \(a parameter\))?$"
)
_NEEDS_GRADIENT = re.compile(
    r"^tensor '(?P<source>.+?)' requires_grad mismatch\. expected requires_grad=(?P<expected>[01])"
)
_OBJECT = re.compile(
    r"^___check_(?P<what>obj|type)_id\((?P<source>.+?), \d+\)(?:, type=<class '(?P<cls>[^']+)'>)?"
)
_SHOWN = re.compile(r"^(?:type\((?P<typed>.+)\) is (?P<cls>.+)|(?P<object>.+) is the same object)$")
_TENSOR = "<class 'torch.Tensor'>"
_CLASS = re.compile(
    r"^expected type of '(?P<source>.+?)' to be "
    r"(?:a tensor type, '|(?P<expected><class '[\w.]+'>),) but found (?P<actual>.+)$"
)  # torch names the class since 2.15
_ALIASED = re.compile(r"^Duplicate tensors? found: \[(?P<names>.*)\]")
_BACKEND = re.compile(
    r"^BACKEND_MATCH failure.*?Cached backend: (?P<expected>.+?)\. "
    r"New backend: (?P<actual>.+?)\. If "
)
_SIZE_1 = re.compile(r"^2 <= (?P<source>\S+\.size\(\)\[\d+\])(?: |$)")
_SIZE = re.compile(r"(?P<source>[^\s(]+\.size\(\)\[\d+\])")
_STRIDE = re.compile(r"^(?P<source>\S+)\.stride\(\)\[\d+\] == (?P<expected>.+)$")
_CONTAINS = re.compile(r"^(?:not )?(?:set\.__contains__|___dict_contains)\((?P<source>.+?)[,)]")
_EQUAL = re.compile(r"^(?P<source>.+?) (?P<is>==|is) (?P<expected>.+)$")
# torch 2.13 tells of a dict what is the case, where it tells of all else what was wanted
_NOT_AS_LONG = re.compile(r"^(len\(.+\)) != (\d+)$")
_LENGTH = re.compile(
    r"^(?:not )?(?P<source>len\(.+\)|\w+) (?:==|!=|>=|<=|<|>) |^not (?P<empty>[\w.\[\]']+)$"
)
_FREED = re.compile(r"^Cache line invalidated because (?P<source>.+?) got deallocated")
_HELD = re.compile(r"^(?:len\()?(?:[\w.\[\]']+\.(?P<attribute>\w+)|G\['(?P<global>\w+)'\])\)?$")
_CHANGES = (
    r"(?:\[[^\]]*\])?\s*(?:[-+*/%@&|^]|//|\*\*|<<|>>)?=(?!=)"
    r"|(?:\[[^\]]*\])?\.(?:append|extend|insert|pop|popitem|remove|clear|add|discard|update"
    r"|setdefault|appendleft|popleft)\("
)
_KINDS = (
    ("grad mode", ("GRAD_MODE", "grad mode", "grad_mode")),
    (
        "global state",
        (
            "GLOBAL_STATE",
            "___compile_config_hash",
            "torch_function",
            "deterministic",
            "CURRENT_DEVICE",
            "___check_global_state",
            "saved_tensors_hooks",
        ),
    ),
    ("identity", ("MATCH", " is ")),
    ("length", ("len(", "dict.keys(")),
    ("size", (".size()", "stride", "storage_offset")),
    ("type", ("dtype", "isinstance", "type(")),
)


@dataclass(frozen=True)
class Reason:
    """One guard that failed; `against` is the variant, `kind` as in `ProgramRecompile`.

    `tensor` and `dim` are set where a dimension had another size.
    """

    against: str
    guard: str
    kind: str
    source: str = ""
    expected: str = ""
    actual: str = ""
    tensor: str = ""
    dim: int | None = None


def read_reason(text: str) -> Reason:
    """Torch's sentence about one earlier variant, such as `0/0: x.size()[0] == 4  # …`.

    The guard of a `Reason`, as rows keep it, is read as that reason.
    """
    match = _AGAINST.match(text.strip())
    against, rest = (match["against"], match["rest"]) if match else ("", text.strip())
    guard = _ON_PARAMETER.sub(PARAMETER, _COMMENT.sub("", rest.split("\n")[0]).strip())
    guard = _NOT_AS_LONG.sub(r"\1 == \2", guard)
    return _of_tensor(against, guard) or _of_object(against, guard) or _of_value(against, guard)


@dataclass(frozen=True)
class Changed:
    """A line, from 1, of a file, with its code."""

    file: str
    line: int
    code: str


def list_changes(
    own: str, others: Mapping[str, str], source: str, file: str = "", classes: Collection[str] = ()
) -> tuple[Changed, ...]:
    """The lines that may have changed what a guard looks at: one is blamed, of two nobody knows.

    `own` is the text of the function's `file`; where nothing in it changes the value, the `others`
    are looked through, by file. Of an attribute or a global only. What `__init__` sets, and the
    first line that sets a global, changes nothing; an attribute of another name for its object
    counts where nothing else in the file changes one of its name. `classes` are those of the object
    that has the attribute, where they are known: what methods of others set on their own is not it.
    """
    held = _HELD.match(source)
    if held is None:
        return ()
    path = source.removeprefix("len(").removesuffix(")")
    own_lines, is_set = _scan(own, held, is_set=False, classes=classes)
    if own_lines:
        among = [line for line in own_lines if path in line[1]] if held["attribute"] else own_lines
        among = among or own_lines
        among = _drop_quoted(own, among, held)
        return tuple(Changed(file, *line) for line in among)
    changed: list[Changed] = []
    for name, text in others.items():
        # a cell has the globals of the function's cell, another file has them by its module's name
        is_same = is_cell(file) and is_cell(name)
        lines, is_set = _scan(text, held, is_set=is_set, is_same=is_same, classes=classes)
        changed += [Changed(name, *line) for line in _drop_quoted(text, lines, held)]
    return tuple(changed)


def _list_strangers(text: str, classes: Collection[str]) -> set[int]:
    """The lines where methods of other classes than these look at an object of their own."""
    try:
        tree = ast.parse(text) if classes else None
    except SyntaxError:  # a cell with a magic, or cut off
        return set()
    return {
        node.lineno
        for definition in (() if tree is None else ast.walk(tree))
        if isinstance(definition, ast.ClassDef) and definition.name not in classes
        for method in definition.body
        if isinstance(method, ast.FunctionDef | ast.AsyncFunctionDef) and method.args.args
        for node in ast.walk(method)
        if isinstance(node, ast.Attribute)
        and isinstance(node.value, ast.Name)
        and node.value.id == method.args.args[0].arg
    }


def is_cell(file: str) -> bool:
    """Whether a file is a cell of a notebook, by the name that is shown or that IPython gives."""
    return file.startswith("cell ") or "ipykernel_" in file


def find_change(text: str, source: str) -> tuple[int, str] | None:
    """The line of a file that changes what a guard looks at; None where none or several may."""
    changes = list_changes(text, {}, source)
    return (changes[0].line, changes[0].code) if len(changes) == 1 else None


def _scan(
    text: str,
    held: re.Match[str],
    *,
    is_set: bool,
    is_same: bool = True,
    classes: Collection[str] = (),
) -> tuple[list[tuple[int, str]], bool]:
    """The lines of one text that change it, and whether a line has set it by now."""
    attribute, name = held["attribute"], held["global"]
    if attribute or not is_same:
        pattern = re.compile(rf"\.{attribute or name}(?:{_CHANGES})")
    else:
        pattern = re.compile(rf"^\s*(?:for )?{name}(?:{_CHANGES}|,? in )")
    changes: list[tuple[int, str]] = []
    inside = ""
    for number, line in enumerate(text.split("\n"), 1):
        code = line.strip()
        if match := re.match(r"(?:async )?def (\w+)", code):
            inside = match[1]
        if not pattern.search(line) or code.startswith("#"):
            continue
        is_start = inside == "__init__"
        if not attribute and is_same:
            is_start = not is_set and line[:1].strip() != "" and not code.startswith("for ")
            is_set = True
        if not is_start:
            changes.append((number, code))
    strangers = _list_strangers(text, classes) if changes and attribute else ()
    return [change for change in changes if change[0] not in strangers], is_set


def _drop_quoted(
    text: str, lines: list[tuple[int, str]], held: re.Match[str]
) -> list[tuple[int, str]]:
    """Of lines those that name it in code: what is quoted in a text changes nothing."""
    try:
        tree = ast.parse(text) if lines else None
    except SyntaxError:  # a cell with a magic, or cut off: any line may be one
        return lines
    name = held["attribute"] or held["global"]
    nodes = () if tree is None else ast.walk(tree)
    named = {
        node.lineno
        for node in nodes
        if (isinstance(node, ast.Attribute) and node.attr == name)
        or (isinstance(node, ast.Name) and node.id == name)
    }
    return [line for line in lines if line[0] in named]


def find_set(text: str, source: str) -> tuple[int, str] | None:
    """The one line that first gives an attribute or a global its number, with its code."""
    held = _HELD.match(source)
    if held is None or source.startswith("len("):
        return None
    name = rf"self\.{held['attribute']}" if held["attribute"] else held["global"]
    start = r"^\s+" if held["attribute"] else "^"
    pattern = re.compile(rf"{start}{name}(?:\s*:\s*\w+)?\s*=\s*-?[\d.]+(?:e-?\d+)?\s*(?:#.*)?$")
    lines = list(enumerate(text.split("\n"), 1))
    matching = [(number, line) for number, line in lines if pattern.match(line)]
    inside = [pair for pair in matching if _is_inside(text, pair[0], "__init__")]
    matching = inside if held["attribute"] else matching[:1]
    return matching[0] if len(matching) == 1 else None


def _is_inside(text: str, line: int, function: str) -> bool:
    """Whether the definition before a line is of a function of this name."""
    names = re.findall(
        r"^\s*(?:async )?def (\w+)", "\n".join(text.split("\n")[:line]), re.MULTILINE
    )
    return names[-1:] == [function]


def _of_tensor(against: str, guard: str) -> Reason | None:
    if match := _NEEDS_GRADIENT.match(guard):
        needs_gradient = match["expected"] == "1"
        source = f"{match['source']}.requires_grad"
        return Reason(
            against, guard, "grad mode", source, str(needs_gradient), str(not needs_gradient)
        )
    if match := _MISMATCH.match(guard):
        what = match["what"]
        kind = what if what in ("size", "stride", "rank") else "type"
        at = "" if match["index"] is None else f".size()[{match['index']}]"
        source = match["source"] + (at if what == "size" else f".{what}")
        dim = int(match["index"]) if kind == "size" and match["index"] is not None else None
        name = "" if dim is None else match["source"]
        return Reason(against, guard, kind, source, match["expected"], match["actual"], name, dim)
    if match := _STRIDE.match(guard):
        return Reason(against, guard, "stride", f"{match['source']}.stride", match["expected"])
    if match := _SIZE_1.match(guard):
        return Reason(against, guard, "size", match["source"])
    if match := _CLASS.match(guard):
        expected = match["expected"] or _TENSOR
        wanted = "a tensor" if expected == _TENSOR else expected
        return Reason(against, guard, "type", match["source"], wanted, match["actual"])
    if match := _ALIASED.match(guard):
        return Reason(against, guard, "aliasing", match["names"].replace('"', ""))
    return None


def _of_object(against: str, guard: str) -> Reason | None:
    if match := _BACKEND.match(guard):
        text = f"backend {_named(match['expected'])}"
        return Reason(
            against, text, "backend", "backend", _named(match["expected"]), _named(match["actual"])
        )
    if match := _SHOWN.match(guard):
        if match["object"]:
            return Reason(against, guard, "identity", match["object"])
        expected = "" if match["cls"] == "the same class" else match["cls"]
        return Reason(against, guard, "type", f"type({match['typed']})", expected)
    match = _OBJECT.match(guard)
    if match is None:
        return None
    if match["what"] == "type":
        expected = match["cls"] or ""
        text = f"type({match['source']}) is {expected or 'the same class'}"
        return Reason(against, text, "type", f"type({match['source']})", expected)
    # an address says nothing, and differs from run to run
    return Reason(against, f"{match['source']} is the same object", "identity", match["source"])


def _named(backend: str) -> str:
    """A backend without its address."""
    return re.sub(r"\s*\(id=0x[0-9a-f]+\)", "", backend)


def _of_value(against: str, guard: str) -> Reason:
    if match := _FREED.match(guard):
        return Reason(against, guard, "identity", match["source"])
    if match := _CONTAINS.match(guard):
        return Reason(against, guard, "value", match["source"])
    kind = next((kind for kind, words in _KINDS if any(word in guard for word in words)), "")
    if kind == "size" and (match := _SIZE.search(guard)):
        equal = _EQUAL.match(guard)
        expected = equal["expected"] if equal and equal["source"] == match["source"] else ""
        return Reason(against, guard, kind, match["source"], expected)
    if equal := _EQUAL.match(guard):
        source, expected = equal["source"].strip(), equal["expected"].strip()
        if equal["is"] == "is" and expected not in ("None", "not None"):
            return Reason(against, guard, "aliasing", source, expected)
        kind = "type" if expected in ("None", "not None") else kind or "value"
        return Reason(against, guard, kind, source, expected)
    if kind in ("", "length") and (match := _LENGTH.match(guard)):
        if match["empty"]:
            return Reason(against, guard, "length", f"len({match['empty']})", "0")
        return Reason(against, guard, kind or "value", match["source"])
    is_sum = re.search(r" (?:<|>|<=|>=|==|!=) ", guard) is not None
    return Reason(against, guard, kind or ("value" if is_sum else "other"))
