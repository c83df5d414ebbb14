"""Paths read guards' names, find values and survive JSON."""

from __future__ import annotations

import json
from typing import ClassVar

import pytest
import torch

from workbench.compiler.calls.paths import Path, parse, parse_state
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


@pytest.mark.parametrize(
    ("key", "text"),
    [
        (1.5, "1.5"),
        (None, "None"),
        (..., "Ellipsis"),
        (("a", 1), "('a', 1)"),
        (b"a", "b'a'"),
        (torch.float32, "torch.float32"),
    ],
)
def test_a_key_that_is_no_text_is_a_step_as_others_are(key: object, text: str) -> None:
    _, path = parse_state(f"G['c'][{text}]") or ("", Path(""))
    again = Path.from_json(json.loads(json.dumps(path.to_json())))
    assert again == path
    assert again.get({"c": {key: 5}}) == 5
    assert eval(str(again), {"torch": torch, "c": {key: 5}}) == 5


@pytest.mark.parametrize("text", ["evil()", "nan", "(" * 9999])
def test_a_key_in_a_manifest_is_a_literal(text: str) -> None:
    with pytest.raises(ArtifactError, match="is not a path"):
        Path.from_json(["d", ["literal", text]])
    with pytest.raises(ArtifactError, match="is not a path"):
        Path.from_json(["d", ["dtype", "a]+evil()"]])


def test_a_path_in_a_manifest_holds_no_code() -> None:
    path = Path("d").item("a'] + evil() + d['").attr("b")
    assert Path.from_json(path.to_json()) == path
    assert eval(str(path), {"d": {"a'] + evil() + d['": type("T", (), {"b": 7})}}) == 7
    with pytest.raises(ArtifactError, match="is not a path"):
        Path.from_json(["d", ["attr", "b, evil()"]])
    with pytest.raises(ArtifactError, match="is not a path"):
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
    assert path.by_keys({"c": {"a": 3, (1, 2): 5}}) == Path("c", (("literal", "(1, 2)"),))
    assert path.by_keys({"c": {"a": 3, float: 5}}) == path
    assert path.by_keys({"c": {"a": 3, float("nan"): 5}}) is None
    assert parse_state("dict.__getitem__(G['c'], list(dict.keys(G['d']))[1])") is None
