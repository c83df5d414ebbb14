"""What each command prints, its exit code, and the JSON of it."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest

from tests.made_profile import make_profile
from workbench.command_line import PLAIN, WITH_JSON
from workbench.command_line.commands import SCHEMA
from workbench.command_line.main import build_command_parser, main
from workbench.worlds.world import list_commands

RECORDS = Path(__file__).parents[1] / "records"
STATIC, DYNAMIC = RECORDS / "mlp" / "static.wbr", RECORDS / "mlp" / "dynamic.wbr"
ARTIFACT = RECORDS / "v0_1_0" / "block.aot"
PROGRAM = """
import torch


def whole(x, n=1):
    return torch.relu(x) * n


def broken(x):
    y = x.sin()
    print("here")
    return y.cos()
"""


def fits(value: Any, schema: Any) -> bool:
    """The part of JSON Schema that ours uses."""
    kinds = {
        "object": dict,
        "array": list,
        "string": str,
        "boolean": bool,
        "null": type(None),
        "number": (int, float),
    }
    if "enum" in schema:
        return value in schema["enum"]
    if "const" in schema:
        return bool(value == schema["const"])
    allowed = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
    if not any(isinstance(value, kinds[one]) for one in allowed):  # type: ignore[arg-type]
        return False
    if isinstance(value, list):
        return all(fits(one, schema["items"]) for one in value)
    if isinstance(value, dict):
        known = schema["properties"]
        is_whole = {*schema["required"]} <= {*value} <= {*known}
        return is_whole and all(fits(one, known[key]) for key, one in value.items())
    return True


def in_json(capsys: pytest.CaptureFixture[str], *words: str) -> Any:
    main([*words, "--json"])
    found = json.loads(capsys.readouterr().out)
    assert fits(found, SCHEMA), found
    return found


@pytest.mark.world("logs")
def test_a_report_is_printed_and_written_as_a_page(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = tmp_path / "report.html"
    assert main(["report", str(RECORDS / "block.wbr"), "--html", str(page)]) == 0
    assert "kernels       16" in capsys.readouterr().out
    assert "<html" in page.read_text()
    assert main(["report", str(RECORDS / "traces" / "failed.log.gz")]) == 1
    capsys.readouterr()
    found = in_json(capsys, "report", str(RECORDS / "block.wbr"))
    numbers = {one["name"]: one for one in found["quantities"]}
    assert numbers["kernels"]["value"] == 16
    assert numbers["peak_bytes"]["unit"] == "bytes"
    assert numbers["compile_s"]["source"] == "measured"
    assert numbers["fallbacks"]["value"] is None
    assert "only a session" in numbers["fallbacks"]["why"]
    assert len(found["kernels"]) == 16
    first = found["kernels"][0]
    assert {one["name"] for one in first["quantities"]} >= {"calls", "bytes_read"}
    assert all({"value", "unit", "source"} <= {*one} for one in first["quantities"])
    assert all(re.fullmatch(r".+:\d+", place) for place in first["lines"])


def test_a_difference_is_a_finding(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["diff", str(STATIC), str(STATIC)]) == 0
    capsys.readouterr()
    assert main(["diff", str(STATIC), str(DYNAMIC)]) == 1
    assert "sizes became arguments" in capsys.readouterr().out
    found = in_json(capsys, "diff", str(STATIC), str(DYNAMIC))
    assert not found["ok"]
    assert found["findings"][0]["what"] == "difference"
    assert {one["of"] for one in found["quantities"]} == {str(STATIC), str(DYNAMIC)}


def test_a_file_is_checked_for_a_machine(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    machine = tmp_path / "target.json"
    machine.write_text(json.dumps({"torch": "2.12.0"}))
    assert main(["check", str(ARTIFACT), str(machine)]) == 1
    assert "cannot be loaded" in capsys.readouterr().out
    found = in_json(capsys, "check", str(ARTIFACT), str(machine))
    assert [one["what"] for one in found["findings"] if one["text"].startswith("torch")] == ["fail"]


def test_the_option_that_was_meant_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["inspect", "f.aot", "--jsno"])
    assert ended.value.code == 2
    assert "unknown option --jsno: did you mean --json?" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["chek", "a.aot"], "unknown command chek: did you mean check?"),
        (["compile"], "unknown command compile: it has report, diff, "),
        (["check", "a.aot", "--target", "h100"], "unknown option --target: it has --help, "),
    ],
)
def test_what_there_is_stands_beside_what_there_is_not(
    words: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        main(words)
    assert said in capsys.readouterr().err


def test_a_file_is_looked_into(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["inspect", str(ARTIFACT)]) == 0
    assert "artifact of this workbench" in capsys.readouterr().out
    found = in_json(capsys, "inspect", str(ARTIFACT))
    assert found["quantities"][0]["value"] == ARTIFACT.stat().st_size


def test_a_break_is_a_finding(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "theirs.py").write_text(PROGRAM)
    monkeypatch.chdir(tmp_path)
    inputs = "torch.ones(4), n=2"
    assert main(["explain", "theirs.py:whole", "--inputs", inputs]) == 0
    assert main(["explain", "theirs:broken", "--inputs", "torch.ones(4)"]) == 1
    capsys.readouterr()
    found = in_json(capsys, "explain", "theirs.py:broken", "--inputs", "torch.ones(4)")
    assert [one["place"] for one in found["findings"]] == ["theirs.py:11"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["report", "nowhere.wbr"], "Cannot open nowhere.wbr"),
        (["report", __file__], "workbench report: "),
        (["diff", str(STATIC), "nowhere.wbs"], "nowhere.wbs"),
        (["inspect", str(STATIC)], "is a report, not an artifact. Open it with wb.Report.load"),
        (["report", str(STATIC), "--html", "nowhere/page.html"], "Cannot write nowhere/page.html"),
        (["explain", "theirs"], "write MODULE:FUNCTION"),
        (["explain", "fractions:Fraction"], "fractions:Fraction is a class: name a function"),
        (["explain", "textwrap:dedent"], "missing a required argument: 'text'. Pass its arguments"),
        (["explain", "no_such_module:f"], "No module no_such_module"),
        (["explain", "nowhere.py:f"], "File nowhere.py does not exist"),
        (["explain", "{folder}/failing.py:f"], "failing.py cannot be imported: ValueError: no."),
        (
            ["explain", "{folder}/wanting.py:f"],
            "cannot be imported: ModuleNotFoundError",
        ),
        (["explain", "{folder}/theirs.py:raises"], "ZeroDivisionError"),
        (["explain", "math:no_such"], "math has no no_such"),
        (["explain", "math:sin", "--inputs", "1 +"], "--inputs '1 +': SyntaxError"),
    ],
)
def test_wrong_use_and_failing_programs_are_no_findings(
    words: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "failing.py").write_text("raise ValueError('no')")
    (tmp_path / "wanting.py").write_text("import no_such_module_of_theirs")
    (tmp_path / "theirs.py").write_text("def raises():\n    return 1 // 0\n")
    assert main([word.format(folder=tmp_path) for word in words]) == 2
    shown = capsys.readouterr()
    assert message in shown.err
    assert shown.out == ""


def test_a_file_imports_what_lies_beside_it(tmp_path: Path) -> None:
    (tmp_path / "beside_theirs.py").write_text(PROGRAM)
    (tmp_path / "theirs.py").write_text("from beside_theirs import whole")
    before = [*sys.path]
    assert main(["explain", f"{tmp_path}/theirs.py:whole", "--inputs", "torch.ones(4)"]) == 0
    assert sys.path == before


def test_the_schema_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["schema"]) == 0
    assert json.loads(capsys.readouterr().out) == SCHEMA


def test_help_and_the_plugin_import_neither_torch_nor_the_record() -> None:
    code = (
        "import sys, workbench.command_line.main, workbench.pytest_plugin\n"
        "workbench.command_line.main.build_command_parser().format_help()\n"
        "print([m for m in ('torch', 'pandas', 'workbench.report') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize(
    ("program", "inputs"),
    [
        ("import sys\nsys.exit(0)", ""),
        ("import sys\ndef f(): sys.exit(0)", ""),
        ("def f(): raise SystemExit", ""),
        ("import os\ndef f(): os._exit(0)", ""),
        ("import os\nos._exit(0)", ""),
        ("def f(x): return x", "exit(0)"),
        ("import sys\ndef f(x): return x", "sys.exit(0)"),
    ],
)
def test_a_program_that_ends_itself_gives_no_verdict(
    program: str, inputs: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "program.py"
    file.write_text(program)
    words = ["explain", f"{file}:f", *(["--inputs", inputs] if inputs else [])]
    assert main(words) == 2
    assert "the program called sys.exit" in capsys.readouterr().err


def test_a_flipped_byte_is_said_by_every_command(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    content = bytearray(ARTIFACT.read_bytes())
    with zipfile.ZipFile(ARTIFACT) as archive:
        (largest,) = sorted(archive.infolist(), key=lambda entry: entry.file_size)[-1:]
    content[largest.header_offset + 200] ^= 1
    file = tmp_path / "block.aot"
    file.write_bytes(content)
    for words, code in (
        (["check", str(file)], 1),
        (["diff", str(file), str(ARTIFACT)], 2),
        (["diff", str(ARTIFACT), str(file)], 2),
        (["report", str(file)], 2),
        (["inspect", str(file)], 1),
    ):
        assert main(words) == code
        said = capsys.readouterr()
        assert largest.filename in said.out + said.err


def test_the_module_is_the_command() -> None:
    """Exit code 1 of a module that cannot be run would read as a finding."""
    words = [sys.executable, "-m", "workbench", "report", "nowhere.wbr"]
    done = subprocess.run(words, capture_output=True, text=True)
    assert done.returncode == 2
    assert done.stderr.startswith("workbench report: ")


TRACE = Path(__file__).parents[1] / "gpu" / "traces" / "eager.json.gz"


def test_the_commands_are_those_that_are_listed() -> None:
    of_worlds = [command.name for command in list_commands(())]
    assert [*build_command_parser().commands] == [
        *WITH_JSON[:2],
        *of_worlds,
        *WITH_JSON[2:],
        *PLAIN,
    ]


def test_profile_says_what_a_gpu_did(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    found = in_json(capsys, "profile", str(TRACE), "--save", str(tmp_path / "p.wbr"))
    assert [one["name"] for one in found["quantities"]] == ["total", "busy", "idle"]
    tables = {table["name"]: table for table in found["tables"]}
    assert tables["kernels"]["columns"][:3] == ["id", "name", "calls"]
    assert len(tables["modules"]["rows"]) > 10
    assert main(["profile", str(tmp_path / "p.wbr")]) == 0
    shown = capsys.readouterr().out
    assert " ".join(shown.split()).startswith(found["sentences"][0])
    assert "\nmatmul " in shown, "a kernel by what it computes"
    assert max(map(len, shown.splitlines())) <= 80


@pytest.mark.parametrize(
    ("words", "right"),
    [
        (["inspect", "PROFILE"], "`workbench profile`"),
        (["profile", str(STATIC)], "`workbench report`"),
    ],
)
def test_the_wrong_command_names_the_right_one(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, words: list[str], right: str
) -> None:
    path = str(tmp_path / "p.wbr")
    make_profile().save(path)
    assert main([path if word == "PROFILE" else word for word in words]) == 2
    assert right in capsys.readouterr().err


def test_report_and_diff_take_traces_and_profiles(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    saved, page = str(tmp_path / "p.wbr"), tmp_path / "diff.html"
    found = in_json(capsys, "profile", str(TRACE), "--save", saved)
    for path in (str(TRACE), saved):
        told = in_json(capsys, "report", path)
        assert (told["command"], told["sentences"]) == ("report", found["sentences"])
        assert {"kernels", "modules"} <= {table["name"] for table in told["tables"]}
    other = str(TRACE.with_name("compiled.json.gz"))
    told = in_json(capsys, "diff", saved, other, "--html", str(page))
    assert told["sentences"][0].endswith("no verdict.")
    assert [one["of"] for one in told["quantities"]] == [saved] * 3 + [other] * 3
    assert "Two profiles" in page.read_text()
    assert {"modules", "operators", "kernels"} <= {table["name"] for table in told["tables"]}
    assert main(["diff", saved, saved]) == 0
    capsys.readouterr()
    assert main(["diff", str(STATIC), saved]) == 2
    assert "compared only with a profile" in capsys.readouterr().err


def test_profile_of_a_file_that_is_no_trace(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["profile", str(STATIC.with_suffix(".json"))]) == 2
    assert "Cannot open the trace" in capsys.readouterr().err
