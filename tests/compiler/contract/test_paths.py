"""Paths read guards' names, find values and survive JSON."""

from __future__ import annotations

from typing import ClassVar

import pytest

from workbench.compiler.contract.paths import Path, parse, parse_state
from workbench.errors import ArtifactError


@pytest.mark.parametrize(
    ("text", "scope", "path"),
    [
        ("x", "L", Path("x")),
        ("d['l'][0]", "L", Path("d", (("item", "l"), ("item", 0)))),
        ("self._modules['a'].act", "L", None),
        ("G['FLAGS']['relu']", "G", Path("FLAGS", (("item", "relu"),))),
        ("L['x'].shape", "L", Path("x", (("attr", "shape"),))),
    ],
)
def test_the_name_of_a_guard(text: str, scope: str, path: Path | None) -> None:
    found = parse(text)
    assert found is not None
    assert found[0] == scope
    assert str(found[1]) == text if path is None else found[1] == path


@pytest.mark.parametrize(
    "text", ["type(x)", "x.__defaults__[f(1)]", "a +", "x[1:2]", "None.a", "x[-1]"]
)
def test_more_than_keys_and_attributes_is_no_path(text: str) -> None:
    assert parse(text) is None


def test_a_path_in_a_manifest_holds_no_code() -> None:
    path = Path("d").item("a'] + evil() + d['").attr("b")
    assert Path.from_json(path.to_json()) == path
    assert eval(str(path), {"d": {"a'] + evil() + d['": type("T", (), {"b": 7})}}) == 7
    with pytest.raises(ArtifactError, match="is no path"):
        Path.from_json(["d", ["attr", "b, evil()"]])
    with pytest.raises(ArtifactError, match="is no path"):
        Path.from_json(["d or evil()"])


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("list(dict.keys(G['c'].v))[1]", "b"),
        ("dict.__getitem__(G['c'].v, list(dict.keys(G['c'].v))[1])", 5),
        ("dict(type(G['c']).__dict__)['w']", 7),
    ],
)
def test_places_by_which_torch_names_what_a_dict_or_a_class_has(name: str, found: object) -> None:
    class Holder:
        w = 7
        v: ClassVar = {"a": 3, "b": 5}

    scope, path = parse_state(name) or ("", Path(""))
    assert scope == "G"
    assert path.get({"c": Holder()}) == found


def test_a_value_by_its_place_has_the_place_of_its_key() -> None:
    _, path = parse_state("dict.__getitem__(G['c'], list(dict.keys(G['c']))[1])") or ("", Path(""))
    assert path.by_keys({"c": {"a": 3, "b": 5}}) == Path("c").item("b")
    assert path.by_keys({"c": {"a": 3, (1, 2): 5}}) is None
    assert parse_state("dict.__getitem__(G['c'], list(dict.keys(G['d']))[1])") is None
