"""What a guard compares, in words: `type of L['self'] is Block`, not `___check_type_id(…)`.

The tables keep torch's own code; this is what views show of it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

_KIND = r"type=<(?:class|module|built-in function|function) '?(?P<kind>[\w.<>]+)'?.*>"
_IMPORTED = re.compile(r"G\['__import_(?P<name>\w+)'\]")
_BUILTIN = re.compile(r"G\['__builtins_dict___\d+'\]\['(?P<name>\w+)'\]")
_CLASS_DICT = re.compile(r"dict\(type\((?P<at>[^()]+)\)\.__dict__\)\['(?P<name>\w+)'\]")
_ENTRY = re.compile(r"\._(?:modules|parameters|buffers)\['(?P<name>[A-Za-z_]\w*)'\]")
_INDEX = re.compile(r"\._(?:modules|parameters|buffers)\['(?P<name>\d+)'\]")

Words = Callable[[re.Match[str]], str]


def _type(found: re.Match[str]) -> str:
    return f"type of {name_source(found['at'])} is {_last(found['kind'])}"


def _object(found: re.Match[str]) -> str:
    kind = found["kind"]
    return f"{name_source(found['at'])} is the same object{f' ({_last(kind)})' if kind else ''}"


_CHECKS: tuple[tuple[re.Pattern[str], Words], ...] = (
    (re.compile(rf"___check_type_id\((?P<at>.+), (?:<id>|\d+)\), {_KIND}"), _type),
    (
        re.compile(r"___check_type_id\((?P<at>.+), (?:<id>|\d+)\)"),
        lambda found: f"type of {name_source(found['at'])} is unchanged",
    ),
    (
        re.compile(rf"___check_obj_id\((?P<at>.+), (?:<id>|\d+)\)(?:, {_KIND})?"),
        _object,
    ),
    (
        re.compile(r"not ___dict_contains\((?P<key>.+?), (?P<at>[GLd].+)\)"),
        lambda found: f"{name_source(found['at'])} has no key {found['key']}",
    ),
    (
        re.compile(r"___dict_contains\((?P<key>.+?), (?P<at>[GLd].+)\)"),
        lambda found: f"{name_source(found['at'])} has the key {found['key']}",
    ),
    (
        re.compile(r"(?P<no>not )?set\.__contains__\((?P<at>.+?), (?P<key>.+)\)"),
        lambda found: (
            f"{name_source(found['at'])} has {'no' if found['no'] else 'the'} item {found['key']}"
        ),
    ),
    (
        re.compile(r"list\(dict\.keys\((?P<at>.+)\)\) == (?P<keys>\[.*\])"),
        lambda found: f"keys of {name_source(found['at'])} are {found['keys']}",
    ),
    (
        re.compile(r"len\((?P<at>.+)\) == (?P<count>\d+)"),
        lambda found: f"length of {name_source(found['at'])} is {found['count']}",
    ),
    (
        re.compile(r"(?P<no>not )?hasattr\((?P<at>.+), (?P<name>'\w+')\)(?P<false> == False)?"),
        lambda found: (
            f"{name_source(found['at'])} has "
            f"{'no' if found['no'] or found['false'] else 'the'} attribute {found['name']}"
        ),
    ),
    (
        re.compile(r"___check_torch_function_mode_stack\(\)"),
        lambda found: "the active torch function modes are the same",
    ),
    (
        re.compile(r"___check_global_state\(\)"),
        lambda found: "torch's global state (grad mode, autocast, threads) is the same",
    ),
    (
        re.compile(r"torch\._functorch\.aot_autograd\.utils\.top_saved_tensors_hooks ids == None"),
        lambda found: "no hooks for saved tensors are active",
    ),
    (
        re.compile(r"utils_device\.CURRENT_DEVICE == (?P<device>.+)"),
        lambda found: f"the default device is {found['device']}",
    ),
    (
        re.compile(r"(?P<at>.+) == (?P<value>True|False|None)"),
        lambda found: f"{name_source(found['at'])} is {found['value']}",
    ),
    (
        re.compile(r"(?P<at>[^=]+) (?P<sign>==|is) (?P<value>.+)"),
        lambda found: f"{name_source(found['at'])} {found['sign']} {name_source(found['value'])}",
    ),
)


def describe_checks(checks: Iterable[str]) -> str:
    """What the checks of one guard compare, without those of torch's own marks."""
    return " and ".join(describe_check(check) for check in checks if "_dynamo_" not in check)


def describe_check(check: str) -> str:
    """One check in words; code that nobody foresaw stays as it is."""
    for pattern, words in _CHECKS:
        if found := pattern.fullmatch(check.strip()):
            return words(found)
    return check


def name_source(source: str) -> str:
    """A guarded value as the program calls it: `L['self'].up` for the entry of its `_modules`."""
    text = _CLASS_DICT.sub(r"\g<at>.\g<name>", source)
    text = _ENTRY.sub(r".\g<name>", text)
    text = _INDEX.sub(r"[\g<name>]", text)
    text = _BUILTIN.sub(r"\g<name>", text)
    return _IMPORTED.sub(lambda found: found["name"].replace("_dot_", "."), text)


def _last(kind: str) -> str:
    """A class by its own name: `Block` of `model.Block`."""
    return kind.rpartition(".")[2]
