"""The HTTP service of a project: built, started on a free port, called, stopped."""

from __future__ import annotations

import json
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest
import torch
from sample_packages import many_inputs

import workbench as wb
from tests.compiler.cpp_project.conftest import Service
from workbench.handles.packages.package import Package

pytestmark = pytest.mark.slow  # building takes a minute
DATATYPES = {torch.float32: "FP32", torch.int64: "INT64", torch.float64: "FP64"}


@pytest.fixture(scope="session")
def url(whole: Service) -> str:
    """Where the model is served."""
    return whole.url


def call(url: str, data: bytes | None = None) -> tuple[int, Any]:
    try:
        with urlopen(Request(url, data=data), timeout=20) as answer:
            return answer.status, json.load(answer)
    except HTTPError as error:
        return error.code, json.load(error)


def request_of(package: Package, inputs: tuple[torch.Tensor, ...]) -> bytes:
    names = package.manifest.models[0].inputs
    rows = [
        {"name": n, "datatype": DATATYPES[t.dtype], "shape": [*t.shape], "data": t.tolist()}
        for n, t in zip(names, inputs, strict=True)
    ]
    return json.dumps({"id": "7", "inputs": rows}).encode()


def test_it_is_healthy_and_describes_the_model(url: str) -> None:
    root = url.partition("/v2/")[0]
    assert call(f"{root}/v2/health/live")[0] == call(f"{root}/v2/health/ready")[0] == 200
    status, about = call(url)
    assert status == 200
    assert about["inputs"][0] == {"name": "x", "datatype": "FP32", "shape": [-1, 8]}
    assert about["inputs"][2] == {"name": "ids", "datatype": "INT64", "shape": [-1]}
    assert [one["shape"] for one in about["outputs"]] == [[-1, 4], [2, 3]]
    assert call(f"{root}/v2/models/other")[0] == 404


def test_its_answers_are_those_of_eager(url: str, package: Package) -> None:
    inputs = many_inputs(6)  # the last one lies in memory as channels_last, JSON has none of that
    status, answer = call(f"{url}/infer", request_of(package, inputs))
    assert (status, answer["id"]) == (200, "7")
    expected = package.originals[package.names[0]](*inputs)
    for found, wanted in zip(answer["outputs"], expected, strict=True):
        made = torch.tensor(found["data"]).reshape(found["shape"])
        assert found["datatype"] == "FP32"
        torch.testing.assert_close(made, wanted)


def test_what_does_not_fit_is_400_in_the_words_of_python(url: str, package: Package) -> None:
    x, scale, ids, picture = many_inputs()
    wrong = (x.double(), scale[:3], ids, picture)
    status, answer = call(f"{url}/infer", request_of(package, wrong))
    assert status == 400
    with pytest.raises(wb.ContractError) as caught:
        package(*wrong)
    assert answer["error"].splitlines()[1:] == str(caught.value).splitlines()[1:]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ('"FP32"|"FP31"', "the datatype FP31 is not known"),
        ('"name": "x"|"name": "y"', "the request has no input named x"),
        ('"shape": [4, 8]|"shape": [4, 9]', "x: its data has 32 elements, its shape is [4, 9]"),
        ('"shape": [4, 8]|"shape": [-4, 8]', "x: its shape is no list of sizes"),
        ('"data"|"date"', "x has no data"),
        ('"data": [|"data": ["a", ', "its data has an element that is no FP32"),
        ("{|", "The request is no JSON"),
    ],
)
def test_a_bad_request_is_400_and_says_why(
    url: str, package: Package, change: str, words: str
) -> None:
    old, _, new = change.partition("|")
    text = request_of(package, many_inputs()).decode()
    assert old in text
    status, answer = call(f"{url}/infer", text.replace(old, new, 1).encode())
    assert status == 400
    assert words in answer["error"]
