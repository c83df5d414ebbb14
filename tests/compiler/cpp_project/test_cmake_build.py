"""The project is built once with the installed torch, and run."""

from __future__ import annotations

import re
import shutil
import zipfile

import pytest
import torch
from sample_packages import Many, many_inputs

MANIFEST = "extra/workbench/manifest.json"


def problems(project, folder, inputs) -> list[str]:
    """What the client says about inputs that it refuses."""
    torch.save(list(inputs), folder / "inputs.pt")
    answer = project.run("example", project.package, folder / "inputs.pt")
    assert (answer.returncode, answer.stdout) == (1, "")
    first, *rest = answer.stderr.splitlines()
    assert first == "error: The inputs do not fit what was compiled:"
    return [line.removeprefix("  - ") for line in rest]


def python_problems(package, inputs) -> list[str]:
    with pytest.raises(Exception, match="do not fit") as caught:
        package(*inputs)
    return [line.removeprefix("  - ") for line in str(caught.value).splitlines()[1:]]


def test_the_compiler_has_no_warning(project):
    assert not re.findall(rf"{re.escape(str(project.folder))}.*warning.*", project.log)


def test_the_numbers_are_those_of_python(project):
    answer = project.run("example", project.package)
    assert answer.stdout.splitlines() == [
        "Float [4, 4]",
        "Float [2, 3]",
        "largest difference from Python: 0",
    ]


@pytest.mark.parametrize("batch", [2, 64])
def test_a_range_holds_its_ends(project, package, tmp_path, batch):
    inputs = many_inputs(batch)
    torch.save(list(inputs), tmp_path / "in.pt")
    torch.save(list(package(*inputs)), tmp_path / "out.pt")
    answer = project.run("example", project.package, tmp_path / "in.pt", tmp_path / "out.pt")
    assert answer.stdout.endswith("largest difference from Python: 0\n")


BAD = {
    "size": lambda x, s, i, p: (x[:, :7].contiguous(), s, i, p),
    "rank": lambda x, s, i, p: (x[0], s, i, p),
    "dtype": lambda x, s, i, p: (x.double(), s, i.int(), p),
    "equal": lambda x, s, i, p: (x, s[:3], i, p),
    "derived": lambda x, s, i, p: (x, s, i[:6], p),
    "odd": lambda x, s, i, p: (x, s, i[:7], p),
    "layout": lambda x, s, i, p: (x, s, i, p.contiguous()),
    "gaps": lambda x, s, i, p: (torch.randn(4, 16)[:, ::2], s, i, p),
    "everything": lambda x, s, i, p: (x.half(), s[:1], i[:7], p[:1]),
}


@pytest.mark.parametrize("name", BAD)
def test_wrong_inputs_are_refused_in_the_words_of_python(project, package, tmp_path, name):
    inputs = BAD[name](*many_inputs())
    assert problems(project, tmp_path, inputs) == python_problems(package, inputs)


@pytest.mark.parametrize("batch", [1, 65])
def test_sizes_outside_the_range_are_refused(project, package, tmp_path, batch):
    inputs = many_inputs(batch)
    found = problems(project, tmp_path, inputs)
    assert f"x: dimension 0 is {batch}, outside the declared batch in 2..64" in found
    assert found == python_problems(package, inputs)


def test_a_missing_input_is_counted(project, tmp_path):
    found = problems(project, tmp_path, many_inputs()[:3])
    assert found == ["expected 4 tensors, got 3"]


@pytest.mark.parametrize(("runners", "threads"), [(1, 4), (2, 2), (4, 8)])
def test_threads_get_the_same_answers_without_an_error(project, runners, threads):
    answer = project.run(
        "benchmark",
        project.package,
        *("--runners", runners, "--threads", threads, "--requests", 250),
    )
    assert answer.returncode == 0, answer.stderr
    assert re.search(rf"answered: +{threads * 250} requests", answer.stdout)
    assert re.search(r"p50 .* p90 .* p99 .* max", answer.stdout)
    assert "different:  0\nfailed:     0\n" in answer.stdout


def test_other_weights_give_the_answers_of_the_other_model(project, package, tmp_path):
    torch.manual_seed(1)
    other = Many().eval()
    torch.save(dict(other.state_dict()), tmp_path / "weights.pt")
    torch.save(list(other(*many_inputs())), tmp_path / "out.pt")
    arguments = ("example_inputs.pt", tmp_path / "out.pt", tmp_path / "weights.pt")
    answer = project.run("example", project.package, *arguments)
    difference = float(answer.stdout.rpartition(": ")[2])
    assert difference < 1e-5
    torch.save({"linear.weight": torch.ones(3), "nothing": torch.ones(1)}, arguments[2])
    answer = project.run("example", project.package, *arguments)
    lines = answer.stderr.splitlines()
    assert lines[0] == "error: The weights do not fit what was compiled:"
    assert sorted(lines[1:]) == [
        "  - linear.weight: expected float32 [4, 8], got float32 [3]",
        "  - nothing: the model has no such weight",
    ]


def changed(path, to, member: str, edit) -> str:
    """A copy of a package with one member edited, or left out."""
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(to, "w") as new:
        for info in old.infolist():
            content = old.read(info)
            if info.filename.endswith(member):
                content = edit(content)
            if content is not None:
                new.writestr(info, content)
    return str(to)


def test_each_failure_is_one_sentence(project, package, tmp_path):
    shutil.copy(project.folder / "contract.hpp", tmp_path / "text.pt2")
    torch_version = f'"torch": "{package.manifest.versions.torch}"'.encode()
    old = changed(
        package.path,
        tmp_path / "old.pt2",
        MANIFEST,
        lambda content: content.replace(torch_version, b'"torch": "2.4.1+cpu"'),
    )
    foreign = changed(package.path, tmp_path / "foreign.pt2", MANIFEST, lambda content: None)
    other = changed(package.path, tmp_path / "other.pt2", ".so", lambda content: None)
    expected = {
        tmp_path / "nothing.pt2": "there is no such file",
        tmp_path: "there is no such file",
        tmp_path / "text.pt2": "is not a .pt2 package, or damaged",
        old: "was compiled with torch 2.4.1+cpu, this program was built with torch",
        foreign: "is not the package that this program was written for",
        other: "is not the package that this program was written for",
    }
    for path, words in expected.items():
        answer = project.run("example", path)
        assert (answer.returncode, answer.stdout) == (1, "")
        assert answer.stderr.count("\n") == 1
        assert answer.stderr.startswith(f"error: {path}")
        assert words in answer.stderr


def test_a_wrong_command_line_prints_the_usage(project):
    for arguments in ([], ["m.pt2", "--threads", "0"], ["m.pt2", "--threads"], ["m.pt2", "--fast"]):
        answer = project.run("benchmark", *arguments)
        assert answer.returncode == 1
        assert "usage: benchmark PACKAGE" in answer.stderr
    assert project.run("example").returncode == 2
