"""Plain data as typed rows: one reader, made once from the types that a class declares.

What a later version added is left out, what an earlier one lacks has its default, and what has
another type is refused with its place, the value and the type that is expected.
Libraries that do the same, such as msgspec, are not installed where files are served.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import MISSING, dataclass, fields, is_dataclass, replace
from functools import cache
from itertools import chain, islice
from operator import itemgetter
from types import NoneType, UnionType
from typing import (
    Any,
    Literal,
    NotRequired,
    Required,
    TypeVar,
    Union,
    get_args,
    get_origin,
    get_type_hints,
    is_typeddict,
)

Row = TypeVar("Row")
_LISTS = frozenset((list, tuple))
_SETS = frozenset((list, tuple, set, frozenset))
_WORDS = {str: ("a text", "texts"), int: ("a whole number", "whole numbers"), NoneType: ("None",)}
_WORDS |= {float: ("a number", "numbers"), bool: ("true or false",)}


class Misfit(ValueError):
    """A value that is not of its declared type, or none, with its place in what was read."""

    def __init__(self, expected: str, *value: Any):
        problem = f"is {value[0]!r:.80}" if value else "is missing"
        super().__init__(f"{problem}: expected {expected}")
        self.place = ""

    def __str__(self) -> str:
        return f"{self.place.removeprefix('.') or 'it'} {self.args[0]}"

    def within(self, part: str) -> Misfit:
        """Itself, placed in what holds the value as `part`."""
        self.place = part + self.place
        return self


def read_row(kind: type[Row], data: Any) -> Row:
    """A row of a data class from plain data; raises `Misfit` for what does not have its types."""
    return kind(**_read_parts(kind, data))


def read_value(kind: Any, value: Any) -> Any:
    """A value of any type that a row may declare; raises `Misfit` for another one.

    A `Literal` takes every value of the same type: a later version may have more of them. A class
    with a `from_json` reads itself.
    """
    return _take(_find_form(kind), value)


def read_columns(kind: type, stored: Mapping[str, Sequence[Any]]) -> dict[str, Sequence[Any]]:
    """The columns of a table of rows of one data class; raises `Misfit` as `read_row` does.

    A field may name in its metadata what its column was called in a former version. A column that
    is missing has the default of its field, or None.
    """
    for name, values in stored.items():
        if type(values) not in _LISTS:
            raise Misfit("a list", values).within(name)
    lengths = {len(values) for values in stored.values()}
    if len(lengths) > 1:
        raise ValueError("the columns differ in length")
    length = max(lengths, default=0)
    columns: dict[str, Sequence[Any]] = {}
    for part in _list_parts(kind):
        stored_name = part.name if part.name in stored else part.former
        values = stored[stored_name] if stored_name in stored else [part.default] * length
        if stored_name in stored and not part.column.plain.issuperset(map(type, values)):
            try:
                values = _read_items(part.column, values)
            except Misfit as error:
                raise error.within(stored_name) from None
        columns[part.name] = values
    return columns


@dataclass(frozen=True)
class _Form:
    """What a type takes: values of the types `plain` as they are, others through `read`.

    `read_all` reads many lists at once, in C for the most part. `many` are the words for several.
    """

    words: str
    plain: frozenset[type] = frozenset()
    read: Callable[[Any], Any] | None = None
    read_all: Callable[[Sequence[Any]], list[Any]] | None = None
    many: str = ""


@dataclass(frozen=True)
class _Part:
    """A field of a data class or message; `column` also takes the None of a missing column."""

    name: str
    form: _Form
    column: _Form
    is_required: bool
    default: Any = None
    former: str = ""


@cache
def _list_parts(kind: Any) -> tuple[_Part, ...]:
    hints = get_type_hints(kind, include_extras=True)
    if is_typeddict(kind):
        forms = {name: _find_form(hint) for name, hint in hints.items()}
        return tuple(
            _Part(name, form, form, get_origin(hints[name]) is not NotRequired)
            for name, form in forms.items()
        )
    parts = []
    for field in fields(kind):
        form = column = _find_form(hints[field.name])
        default = field.default if field.default_factory is MISSING else field.default_factory()
        if is_required := default is MISSING:
            default, column = None, replace(form, plain=form.plain | {NoneType})
        former = field.metadata.get("former", "")
        parts.append(_Part(field.name, form, column, is_required, default, former))
    return tuple(parts)


def _read_parts(kind: Any, data: Any) -> dict[str, Any]:
    """The fields that are known, by their names of today."""
    if not isinstance(data, Mapping):
        raise Misfit("a dict", data)
    values: dict[str, Any] = {}
    for part in _list_parts(kind):
        stored_name = part.name if part.name in data else part.former
        if stored_name in data:
            value = data[stored_name]
            if type(value) not in part.form.plain:
                try:
                    value = _take(part.form, value)
                except Misfit as error:
                    raise error.within(f".{stored_name}") from None
            values[part.name] = value
        elif part.is_required:
            raise Misfit(part.form.words).within(f".{part.name}")
    return values


def _take(form: _Form, value: Any) -> Any:
    if type(value) in form.plain:
        return value
    if form.read is not None:
        return form.read(value)
    for kind in (str, int, float):  # what is no file's may be of a class of its own
        if kind in form.plain and isinstance(value, kind) and not isinstance(value, bool):
            return kind(value)
    raise Misfit(form.words, value)


def _read_items(form: _Form, values: Sequence[Any]) -> Sequence[Any]:
    """Values of one type; the very same list where they are taken as they are."""
    if form.plain.issuperset(map(type, values)):
        return values
    plain, read_all = form.plain, form.read_all
    rest = [value for value in values if type(value) not in plain] if plain else values
    if read_all is not None and _LISTS.issuperset(map(type, rest)):
        with suppress(Misfit):  # one by one it is found again, with its place
            converted = read_all(rest)
            if len(rest) == len(values):
                return converted
            others = iter(converted)
            return [value if type(value) in plain else next(others) for value in values]
    return _read_each([form] * len(values), values)


def _read_each(forms: Sequence[_Form], values: Sequence[Any]) -> list[Any]:
    converted: list[Any] = []
    try:
        for form, value in zip(forms, values, strict=True):
            converted.append(_take(form, value))
    except Misfit as error:
        raise error.within(f"[{len(converted)}]") from None
    return converted


@cache
def _find_form(kind: Any) -> _Form:
    """What a type takes: found once, since a file holds many values of few types."""
    origin = get_origin(kind)
    if origin is not None:
        return _find_generic(kind, origin, get_args(kind))
    if kind is Any:
        return _Form("anything", read=lambda value: value)
    if is_typeddict(kind):
        return _Form("a dict", read=lambda value: _read_parts(kind, value), many="dicts")
    if hasattr(kind, "from_json"):
        return _Form(kind.__name__, read=kind.from_json)
    if is_dataclass(kind):
        return _find_row(kind)
    words, *many = _WORDS.get(kind, (kind.__name__,))
    plain = (float, int) if kind is float else (kind,)  # JSON writes a whole one as an integer
    return _Form(words, frozenset(plain), many="".join(many))


def _find_row(kind: Any) -> _Form:
    return _Form("a dict", read=lambda value: kind(**_read_parts(kind, value)), many="dicts")


def _find_generic(kind: Any, origin: Any, inner: Sequence[Any]) -> _Form:
    if origin in (NotRequired, Required):
        return _find_form(inner[0])
    if origin in (Union, UnionType):
        return _find_union(tuple(map(_find_form, inner)))
    if origin is Literal:
        return _Form(" or ".join(map(repr, inner)), frozenset(map(type, inner)))
    if origin is tuple and inner[1:] != (...,):
        return _find_fixed(tuple(map(_find_form, inner)))
    if origin in (tuple, list):
        return _find_sequence(origin, _find_form(inner[0]))
    if origin is frozenset:
        return _find_set(_find_form(inner[0]))
    if issubclass(dict, origin):
        return _find_mapping(inner[0], _find_form(inner[1]))
    raise TypeError(f"{kind} is a type without a reader")


def _find_union(forms: Sequence[_Form]) -> _Form:
    words = " or ".join(form.words for form in forms)
    plain = frozenset[type]().union(*(form.plain for form in forms))
    rest = [form for form in forms if form.read is not None]
    if len(rest) < 2:  # its reader says what is wrong inside of the value
        return replace(rest[0], words=words, plain=plain) if rest else _Form(words, plain)

    def read(value: Any) -> Any:
        for form in rest:
            with suppress(Misfit):
                return _take(form, value)
        raise Misfit(words, value)

    return _Form(words, plain, read)


def _find_sequence(kind: Any, item: _Form) -> _Form:
    words = f"a list of {item.many}" if item.many else "a list"

    def read(value: Any) -> Any:
        if type(value) not in _LISTS:
            raise Misfit(words, value)
        items = _read_items(item, value)
        return items if type(items) is kind else kind(items)

    def read_all(values: Sequence[Any]) -> list[Any]:
        if item.plain.issuperset(map(type, chain.from_iterable(values))):
            return list(map(kind, values))
        rest = iter(_read_items(item, list(chain.from_iterable(values))))
        return [kind(islice(rest, len(value))) for value in values]

    return _Form(words, read=read, read_all=read_all, many="lists")


def _find_fixed(items: Sequence[_Form]) -> _Form:
    words = f"a list of {len(items)}"

    def read(value: Any) -> Any:
        if type(value) not in _LISTS or len(value) != len(items):
            raise Misfit(words, value)
        return tuple(_read_each(items, value))

    def read_all(values: Sequence[Any]) -> list[Any]:
        if set(map(len, values)) != {len(items)}:
            raise Misfit(words, values)
        for at, item in enumerate(items):
            if not item.plain.issuperset(map(type, map(itemgetter(at), values))):
                return list(map(read, values))
        return list(map(tuple, values))

    return _Form(words, read=read, read_all=read_all, many="lists")


def _find_set(item: _Form) -> _Form:
    words = f"a list of {item.many}"

    def read(value: Any) -> Any:
        if type(value) not in _SETS or not item.plain.issuperset(map(type, value)):
            raise Misfit(words, value)
        return frozenset(value)

    return _Form(words, read=read)


def _find_mapping(key: Any, form: _Form) -> _Form:
    def read(value: Any) -> Any:
        if not isinstance(value, Mapping):
            raise Misfit("a dict", value)
        entries = dict(value)
        if not form.plain.issuperset(map(type, entries.values())):
            for name, part in entries.items():
                try:
                    entries[name] = _take(form, part)
                except Misfit as error:
                    raise error.within(f"[{name!r:.80}]") from None
        return (
            {_read_whole(name): part for name, part in entries.items()} if key is int else entries
        )

    return _Form("a dict", read=read, many="dicts")


def _read_whole(name: Any) -> int:
    """A key that is a number: JSON has it as a text."""
    try:
        return int(name)
    except (TypeError, ValueError):
        raise Misfit("a whole number", name).within(", a key,") from None
