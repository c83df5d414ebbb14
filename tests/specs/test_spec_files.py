"""GPUs of files that a user adds to the catalogue."""

from __future__ import annotations

from typing import Any

import pytest

from workbench.errors import UsageError
from workbench.specs import Catalogue
from workbench.specs.catalogue import build_gpu

H100 = Catalogue.built_in()["h100"]


@pytest.mark.parametrize(
    ("table", "words"),
    [
        ({"smz": 3}, "field 'smz' does not exist; did you mean sms"),
        ({"matrix": {"fp17": 3}}, "field 'matrix.fp17' does not exist; did you mean matrix.fp16"),
        ({"sms": "3"}, "sms must be a number, not '3'"),
        ({"sms": True}, "sms must be a number, not True"),
        ({"sms": 1.5}, "sms must be a positive integer, not 1.5"),
        ({"sms": 0}, "sms must be a positive integer, not 0"),
        ({"clock_mhz": float("inf")}, "clock_mhz must be a number"),
        ({"bandwidth_gbs": -1}, "bandwidth_gbs must be a positive number"),
        ({"title": 3}, "title must be a text"),
        ({"vendor": "intel"}, 'vendor must be "nvidia" or "amd"'),
        ({"aliases": "one"}, "aliases must be a list of names"),
        ({"matrix": 3}, "matrix must be a table of rates"),
        ({"shared_per_block": 300_000}, "shared_per_block .300000. is larger than"),
    ],
)
def test_a_wrong_table_is_refused_in_words(table: dict[str, Any], words: str) -> None:
    with pytest.raises(UsageError, match=f"mine in lab.toml: .*{words}"):
        build_gpu("mine", table, origin="lab.toml", base=H100)


def test_without_a_base_everything_must_be_given() -> None:
    with pytest.raises(UsageError, match=r"clock_mhz missing.*base = "):
        build_gpu("mine", {"title": "My GPU", "sms": 4}, origin="lab.toml")


@pytest.mark.parametrize("name", ["My GPU", "-x", "H100", ""])
def test_a_name_must_be_typable(name: str) -> None:
    with pytest.raises(UsageError, match="is not a valid target name"):
        build_gpu(name, {}, origin="lab.toml", base=H100)


def test_a_complete_table_needs_no_base() -> None:
    table = {k: v for k, v in H100.values().items() if v is not None and k != "name"}
    rates = {part: {} for part in ("vector", "matrix")}
    for key in [key for key in table if "." in key]:
        part, dtype = key.split(".")
        rates[part][dtype] = table.pop(key)
    made = build_gpu("h100", {**table, **rates}, origin="given")
    assert made == H100
    assert set(made.sources.values()) == {"given"}
