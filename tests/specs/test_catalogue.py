from __future__ import annotations

import json
import pickle
from pathlib import Path

import pytest

import workbench as wb
from workbench.errors import UsageError
from workbench.specs import Catalogue

GPUS = Catalogue.built_in()
PROMISED = [
    "v100",
    "t4",
    "a100",
    "a10",
    "l4",
    "l40s",
    "rtx3090",
    "rtx4090",
    "rtx5090",
    "h100",
    "h200",
    "b200",
    "mi210",
    "mi250x",
    "mi300x",
    "mi355x",
    "a100-40gb",
    "a100-80gb",
    "h100-pcie",
    "h100-sxm",
    "v100-16gb",
    "v100-32gb",
]


@pytest.mark.parametrize("name", PROMISED)
def test_every_promised_target_is_there(name: str) -> None:
    assert name in GPUS
    assert name in (GPUS[name].name, *GPUS[name].aliases)


def test_names_do_not_care_for_case_and_a_wrong_one_gets_a_hint() -> None:
    assert GPUS["H100"] is GPUS["h100"]
    with pytest.raises(
        UsageError, match=r"GPU 'h10' is unknown\. Did you mean 'h100'\? Choose one of v100, "
    ):
        GPUS["h10"]


def test_a_variant_shares_what_it_does_not_change() -> None:
    large, small = GPUS["a100-80gb"], GPUS["a100-40gb"]
    assert (large.dram_bytes, small.dram_bytes) == (80 << 30, 40 << 30)
    assert large.sms == small.sms
    assert large.sources["sms"] == small.sources["sms"]
    assert small.sources["dram_bytes"] != large.sources["dram_bytes"]


def test_a_file_of_the_user_adds_and_replaces(tmp_path: Path) -> None:
    (tmp_path / "gpus").mkdir()
    (tmp_path / "gpus" / "lab.toml").write_text(
        '[h100-half]\nbase = "h100"\nsms = [66, "half of an H100"]\nmatrix.fp16 = 494\n'
    )
    (tmp_path / "gpus" / "more.json").write_text(
        json.dumps({"h100": {"base": "h100", "bandwidth_gbs": 2000, "aliases": ["mine"]}})
    )
    gpus = Catalogue.of_user(tmp_path)
    half = gpus["h100-half"]
    assert (half.sms, half.matrix.fp16, half.matrix.fp8) == (66, 494.0, 1979.0)
    assert half.sources["sms"] == "half of an H100"
    assert half.sources["matrix.fp16"] == "lab.toml"  # no source given: the file
    assert half.aliases == ()
    assert gpus["mine"].bandwidth_gbs == gpus["h100"].bandwidth_gbs == 2000
    assert len(gpus) == len(GPUS) + 1


def test_wb_targets_shows_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AOT_WORKBENCH_DATA", str(tmp_path))
    (tmp_path / "gpus").mkdir()
    (tmp_path / "gpus" / "lab.toml").write_text('[mine]\nbase = "mi300x"\nsms = 38\n')
    frame = wb.targets().set_index("name")
    assert frame.loc["mine", "sms"] == 38
    assert {"h100", "mi355x"} < set(frame.index)
    assert wb.targets("mine").set_index("field").loc["sms", "source"] == "lab.toml"


@pytest.mark.parametrize(
    ("file", "text", "words"),
    [
        ("a.toml", "[x", "a.toml is not valid TOML"),
        ("a.json", "[1]", "a.json must have one table for each GPU"),
        ("a.toml", "x = 3", "x must be a table"),
        ("a.json", '{"x": {"base": "h1000"}}', "GPU 'h1000' is unknown"),
    ],
)
def test_a_file_that_cannot_be_read_says_why(
    tmp_path: Path, file: str, text: str, words: str
) -> None:
    (tmp_path / "gpus").mkdir()
    (tmp_path / "gpus" / file).write_text(text)
    with pytest.raises(UsageError, match=words):
        Catalogue.of_user(tmp_path)


def test_no_folder_is_no_gpu_more(tmp_path: Path) -> None:
    assert Catalogue.of_user(tmp_path / "missing") == GPUS


def test_gpus_travel_to_other_processes() -> None:
    assert pickle.loads(pickle.dumps(GPUS)) == GPUS
