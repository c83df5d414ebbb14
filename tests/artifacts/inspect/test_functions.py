"""Files of compiled functions: texts and requirements inside pickles; names by what they can do."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import pytest

from tests.torchs_file import write_like_torch
from workbench.artifacts.archive import aot_container
from workbench.artifacts.inspect.inspection import inspect
from workbench.artifacts.inspect.opcodes import read_pickle
from workbench.artifacts.inspect.pickles import level
from workbench.artifacts.manifest.manifest import Manifest
from workbench.report import Guard, Report, Table

WRAPPER = (
    "# AOT ID: ['0_inference']\nimport torch\n\n"
    "cpp_fused_relu_0 = async_compile.cpp_pybinding(['float*'], r'''\n"
    '#include <cmath>\nextern "C" void kernel(float* x) {}\n'
    "''')\n\n"
    "triton_poi_fused_0 = async_compile.triton('triton_poi_fused_0', '''\n"
    "import triton\n@triton.jit\ndef triton_poi_fused_0(x): pass\n"
    "''', device_str='cuda')\n"
)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    inner = pickle.dumps({"code": WRAPPER}, protocol=4)
    system = {"python_version": "3.11.7", "torch_version": "2.13.0", "gpu_name": None}
    (tmp_path / "torch.bin").write_bytes(write_like_torch(inner, system))
    return tmp_path / "torch.bin"


def test_kernels_are_found_in_the_texts_of_a_pickle(path: Path) -> None:
    report = inspect(path)
    languages = {row.name: row.language for row in report.sources}
    assert languages == {
        "wrapper 0_inference": "python",
        "wrapper 0_inference cpp_fused_relu_0": "cpp",
        "wrapper 0_inference triton_poi_fused_0": "triton",
    }
    assert "@triton.jit" in report.source("triton_poi_fused_0")


def test_what_torch_recorded_of_its_machine_is_a_need(path: Path) -> None:
    assert {need.name: need.needed for need in inspect(path).needs} == {
        "python": "3.11.7",
        "torch": "2.13.0",
    }


def test_a_function_of_ours_tells_guards_and_objects_from_outside(tmp_path: Path) -> None:
    leaf = {"path": ["s", ["attr", "w"]], "kind": "tensor", "dtype": "float32", "shape": [4]}
    manifest = Manifest(
        contract={
            "name": "f",
            "inputs": {"leaves": [leaf, {**leaf, "path": ["x"]}], "receiver": "s"},
            "imports": {"np": ["numpy", ""]},
        },
        guards={"dropped": [{"kind": "ID_MATCH", "name": "G['x']", "why": "an identity"}]},
        baked=({"owner": "m", "path": ["SCALE"], "value": {"float": "0x1p+1"}},),
        external_data=("table",),
        missing_names=("helper",),
        aliases={"___module_collections_140_c0": "collections", "type": "builtins:type"},
    )
    members: dict[str, aot_container.Content] = {"payload": pickle.dumps(1, protocol=4)}
    manifest = aot_container.with_members(manifest, members)
    aot_container.write_artifact(tmp_path / "f.aot", manifest, members)
    report = inspect(tmp_path / "f.aot")
    assert [(row.name, row.shape) for row in report.inputs] == [("x", "[4]")]
    assert [(row.name, row.size) for row in report.constants] == [("s.w", 16)]
    assert [(row.kind, row.kept) for row in report.guards] == [
        ("ID_MATCH", False),
        ("BAKED_VALUE", True),
    ]
    outside = {(row.kind, row.name, row.found_at) for row in report.outside}
    assert outside >= {("import", "np", "numpy"), ("import", "type", "builtins:type")}
    assert {row.name for row in report.outside if "wb.load" in row.found_at} == {"table", "helper"}
    assert "module collections\n" in str(report)


@pytest.mark.parametrize(
    ("name", "graded"),
    [
        ("torch:device", "usual"),
        ("builtins:getattr", "usual"),
        ("collections:OrderedDict", "usual"),
        ("torch._dynamo.guards:GuardBuilder.SHAPE_ENV", "usual"),
        ("mymodel:Net", "unknown"),
        ("builtins:eval", "runs commands"),
        ("posix:system", "runs commands"),
        ("subprocess:Popen", "runs commands"),
        ("torch:load", "runs commands"),
        ("torch.serialization:os.system", "runs commands"),
        ("torch:nn.Module.__init__.__globals__", "runs commands"),
        ("a name computed during unpickling", "runs commands"),
        ("extension registry code 1", "runs commands"),
    ],
)
def test_names_are_judged_by_what_they_can_do(name: str, graded: str) -> None:
    assert level(name) == graded


def test_a_pickle_behind_a_pickle_is_read() -> None:
    facts = read_pickle(pickle.dumps(1, protocol=4) + pickle.dumps(Path, protocol=4))
    assert facts.all_globals() == (f"{Path.__module__}:Path",)


def test_a_pickle_of_very_many_steps_is_not_read_to_its_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("workbench.artifacts.inspect.opcodes._MOST_STEPS", 1000)
    assert read_pickle(b"\x80\x04" + b"N0" * 400 + b"N.").complete
    facts = read_pickle(b"\x80\x04" + b"N0" * 4000 + b"N.")
    assert not facts.complete
    assert "the limit of opcodes" in facts.problem


def test_odd_contents_of_a_manifest_are_shown_or_left_out(tmp_path: Path) -> None:
    odd: list[Any] = [None, 7, "text", [], [[]], {}, {"leaves": 7}, {"leaves": [{"path": 3}]}]
    for value in odd:
        manifest = Manifest(
            contract={"inputs": value, "imports": value, "name": value, "function_module": value},
            guards={"dropped": value},
            baked=(value,),
        )
        members: dict[str, aot_container.Content] = {"payload": b"\x80\x04N."}
        manifest = aot_container.with_members(manifest, members)
        aot_container.write_artifact(tmp_path / "f.aot", manifest, members)
        report = inspect(tmp_path / "f.aot")
        assert repr(report)
        assert report._repr_html_()
        assert value == [] or any("the manifest is damaged: " in note for note in report.notes)


def test_a_dropped_guard_that_is_spelt_in_two_ways_is_counted_once(tmp_path: Path) -> None:
    rows = [
        Guard("q0", True, "TENSOR_MATCH", "L['x']"),
        Guard("q1", False, "HOOKS", "L['s'].a._forward_hooks", why_dropped="an identity"),
    ]
    record = Report(tables={"guards": Table.of(Guard, rows)})
    dropped = {"kind": "HOOKS", "name": "s._modules['a']._forward_hooks", "why": "an identity"}
    leaf = {"path": ["x"], "kind": "tensor", "dtype": "float32", "shape": [4]}
    manifest = Manifest(
        contract={"name": "f", "inputs": {"leaves": [leaf]}},
        guards={"dropped": [dropped]},
        baked=({"owner": "m", "path": ["SCALE"], "value": {"float": "0x1p+1"}},),
    )
    members: dict[str, aot_container.Content] = {
        "payload": pickle.dumps(1, protocol=4),
        "report.wbr": record.to_bytes(),
    }
    manifest = aot_container.with_members(manifest, members)
    aot_container.write_artifact(tmp_path / "f.aot", manifest, members)
    said = str(inspect(tmp_path / "f.aot"))
    assert "guards    1 kept, 1 dropped" in said
    assert "values    1 captured from outside, compared at each call" in said
