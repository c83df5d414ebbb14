"""Save, then load in a fresh process that has no compiler, no cache and no right to start one."""

from __future__ import annotations

import io
import json
import os
import pickle
import subprocess
import sys
import tempfile
import threading
import types
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import loading_samples as samples
import pytest
import torch

import workbench as wb
from workbench.artifacts.archive import aot_container
from workbench.artifacts.archive.file_kinds import open_any
from workbench.artifacts.trust.trust import TrustStore
from workbench.compiler.aot_files.deserialize import BundleUnpickler
from workbench.compiler.aot_files.loaded_artifact import explained, load_artifact
from workbench.compiler.aot_files.writing.written_artifact import save_artifact
from workbench.compiler.internals import torch_private as tp
from workbench.errors import ArtifactError, TrustError, UsageError
from workbench.report import Report, Request

HOSTILE = """
import os, sys, json, subprocess, threading
import torch  # a CUDA build of it asks ldconfig for its libraries
def forbidden(*args, **kwargs):
    raise AssertionError(f"a child process: {args}")
subprocess.Popen.__init__ = os.posix_spawn = os.fork = os.system = os.popen = forbidden
import loading_samples as samples
from workbench.compiler.aot_files.loaded_artifact import load_artifact
files = json.loads(sys.argv[1])
def load(name, **kwargs):
    return load_artifact(files[name][0], trust=files[name][1], **kwargs)
from tests.agreement import largest_difference as difference
x, y = samples.inputs()
result = {}
"""


@pytest.fixture(scope="module")
def folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as name:
        yield Path(name)


@pytest.fixture(scope="module")
def store(folder: Path) -> TrustStore:
    return TrustStore(folder / "data")


@pytest.fixture(scope="module")
def files(folder: Path, store: TrustStore) -> dict[str, tuple[str, str]]:
    """One file of each kind: path and digest."""
    x, y = samples.inputs()
    with torch.no_grad():
        function = samples.compiled(samples.scaled, (x, y))
        narrow = samples.compiled(samples.scaled, (x, y), **{"cpp.simdlen": 256})
        width = Report(request=Request(options=(("cpp.simdlen", "256"),)))
    module = samples.block()
    training = samples.compiled(module, (x,))
    with torch.no_grad():
        eager = samples.compiled(samples.scaled, (x, y), backend="eager")

    saved = {}
    for name, made, more in (
        ("function", function, {}),
        ("portable", narrow, {"isa": ["native", "avx2"], "report": width}),
        ("training", training, {"weights": "later", "module": module}),
        ("bundle", training, {"weights": "inside", "module": module}),
        ("eager", eager, {}),
    ):
        path = folder / f"{name}.aot"
        contract = {"name": name}
        saved[name] = (
            str(path),
            save_artifact(path, aot_fn=made, contract_json=contract, store=store, **more),
        )
    function.save_compiled_function(str(folder / "torch.bin"))
    with open_any(folder / "torch.bin") as opened:
        saved["torch"] = (str(folder / "torch.bin"), opened.digest)
    return saved


def fresh_process(code: str, files: dict[str, Any], folder: Path) -> dict[str, Any]:
    """Run code where nothing can be compiled, cached or started; what it put in `result`."""
    (folder / "no_folder").write_text("so that nothing can be written under it")
    (folder / "temporary").mkdir(exist_ok=True)
    closed = str(folder / "no_folder" / "home")
    tests = Path(__file__).parents[2]
    environment = {
        "PATH": "",
        "HOME": closed,
        "TORCHINDUCTOR_CACHE_DIR": closed,
        "TRITON_CACHE_DIR": closed,
        "TMPDIR": str(folder / "temporary"),
        "PYTHONPATH": f"{tests}:{tests.parent}",
        "OMP_NUM_THREADS": str(torch.get_num_threads()),  # torch guards on the number
    }
    done = subprocess.run(
        [sys.executable, "-c", f"{HOSTILE}\n{code}\nprint(json.dumps(result))", json.dumps(files)],
        capture_output=True,
        text=True,
        check=False,
        env=environment,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert not list((folder / "temporary").glob("aot-workbench-*"))
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def test_a_fresh_process_runs_everything_without_a_compiler(
    files: dict[str, tuple[str, str]], folder: Path
) -> None:
    result = fresh_process(
        """
def in_thread(name):
    with torch.no_grad():
        result[f"thread {name}"] = difference(load(name).callable(x, y), samples.scaled(x, y))
threads = [threading.Thread(target=in_thread, args=(n,)) for n in ("function", "portable", "eager")]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
with torch.no_grad():
    for name in ("function", "portable", "eager"):
        result[name] = difference(load(name).callable(x, y), samples.scaled(x, y))
result["lean"] = "torch._inductor.graph" not in sys.modules
module, plain = samples.block(), samples.block()
trained = load("training", module=module).callable(module, x)
expected = plain(x)
trained["out"].pow(2).sum().backward()
expected["out"].pow(2).sum().backward()
result["training"] = difference(trained["out"], expected["out"])
gradients = [[p.grad for p in owner.parameters()] for owner in (module, plain)]
result["gradient"] = difference(*gradients)
result["calls"] = module.calls.item()
loaded = load("bundle")
alone = loaded.callable(loaded.module, x)
result["bundle"] = difference(alone["out"], expected["out"])
result["tied"] = loaded.module.second.weight is loaded.module.first.weight
with torch.device("meta"):
    empty = samples.Block()
filled = load("bundle", module=empty)
result["filled"] = difference(filled.callable(empty, x)["out"], expected["out"])
result["type"] = type(alone).__name__
""",
        files,
        folder,
    )
    assert result.pop("lean")
    assert result.pop("tied")
    assert result.pop("calls") == 1.0
    assert result.pop("type") == "OrderedDict"
    assert len(result) == 10
    assert all(value < 1e-6 for value in result.values()), result


def test_several_artifacts_load_in_several_threads(
    files: dict[str, tuple[str, str]], store: TrustStore
) -> None:
    x, y = samples.inputs()
    expected = samples.scaled(x, y)
    problems: list[object] = []

    def work(name: str) -> None:
        try:
            with torch.no_grad():
                function = load_artifact(files[name][0], store=store).callable
                torch.testing.assert_close(function(x, y), expected)
        except BaseException as error:
            problems.append(error)

    names = ["function", "portable", "eager"] * 3
    threads = [threading.Thread(target=work, args=(name,)) for name in names]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not problems


def test_a_loaded_function_is_saved_again_with_its_kernels(
    files: dict[str, tuple[str, str]], store: TrustStore, folder: Path
) -> None:
    loaded = load_artifact(files["training"][0], store=store)
    again = folder / "again.aot"
    save_artifact(again, aot_fn=loaded.callable, contract_json={}, store=store)
    module, plain = samples.block(), samples.block()
    x, _ = samples.inputs()
    function = load_artifact(again, store=store).callable
    torch.testing.assert_close(function(module, x)["out"], plain(x)["out"])
    with open_any(again) as opened, open_any(files["training"][0]) as first:
        assert opened.manifest
        assert first.manifest
        kernels = [
            {n: m.sha256 for n, m in each.manifest.members.items() if n.startswith("kernels/")}
            for each in (opened, first)
        ]
        assert kernels[0] == kernels[1]
        assert opened.manifest.builds == first.manifest.builds


def test_a_file_of_torch_is_loaded_under_the_same_rule(
    files: dict[str, tuple[str, str]], store: TrustStore
) -> None:
    path, digest = files["torch"]
    x, y = samples.inputs()
    with pytest.raises(TrustError, match="is not signed"):
        load_artifact(path, store=store)
    loaded = load_artifact(path, trust=digest, store=store)
    with torch.no_grad():
        torch.testing.assert_close(loaded.callable(x, y), samples.scaled(x, y))
    assert loaded.manifest is None
    assert loaded.digest == digest


def test_guards_refuse_a_wrong_call_after_loading(
    files: dict[str, tuple[str, str]], store: TrustStore
) -> None:
    x, y = samples.inputs()
    function = load_artifact(files["function"][0], store=store).callable
    with torch.no_grad(), pytest.raises(RuntimeError, match="GuardManager check failed"):
        function(x[:4], y)


def test_nothing_of_a_module_runs_before_it_is_trusted(
    files: dict[str, tuple[str, str]], folder: Path
) -> None:
    with pytest.raises(TrustError):
        load_artifact(files["bundle"][0], store=TrustStore(folder / "stranger"))


def test_a_module_that_does_not_fit_the_weights_is_named(
    files: dict[str, tuple[str, str]], store: TrustStore
) -> None:
    with torch.device("meta"):
        other = torch.nn.Sequential(torch.nn.Linear(2, 2))
    with pytest.raises(ArtifactError, match=r"0\.weight: the module has \(2, 2\)"):
        load_artifact(files["bundle"][0], module=other, store=store)
    with pytest.raises(ArtifactError, match=r"on the meta device and .* holds no weights"):
        load_artifact(files["training"][0], module=other, store=store)


def test_weights_are_compared_on_demand(
    files: dict[str, tuple[str, str]], store: TrustStore, folder: Path
) -> None:
    path = folder / "weights.aot"
    content = bytearray(Path(files["bundle"][0]).read_bytes())
    weight = samples.block().first.weight.detach().numpy().tobytes()
    content[content.index(weight) + 100] ^= 1
    path.write_bytes(content)
    load_artifact(path, store=store)
    with pytest.raises(ArtifactError, match=r"weights\.safetensors has the wrong hash"):
        load_artifact(path, store=store, verify_weights=True)


def test_the_packed_builds_say_what_they_need(files: dict[str, tuple[str, str]]) -> None:
    with open_any(files["portable"][0]) as opened:
        assert opened.manifest is not None
        native, portable = opened.manifest.builds
        names = [name.split("/")[1] for name in opened.manifest.members if "kernels/" in name]
    assert native.name.endswith("-native")
    assert portable.name == "avx2"
    assert set(portable.flags) < set(native.flags)
    assert "avx2" in portable.flags
    assert sorted(set(names)) == sorted((native.name, portable.name))


def test_the_portable_build_runs_where_the_native_one_cannot(
    files: dict[str, tuple[str, str]], folder: Path, store: TrustStore
) -> None:
    with open_any(files["portable"][0]) as opened:
        assert opened.artifact is not None
        manifest = opened.artifact.manifest
        members: dict[str, Any] = {n: opened.artifact.raw(n) for n in manifest.members}
    native, portable = manifest.builds
    other = replace(native, flags=(*native.flags, "an_instruction_of_tomorrow"))
    path = folder / "other.aot"
    manifest = store.sign(replace(manifest, builds=(other, portable)))
    aot_container.write_artifact(path, manifest, members)
    x, y = samples.inputs()
    with torch.no_grad():
        result = load_artifact(path, store=store).callable(x, y)
        torch.testing.assert_close(result, samples.scaled(x, y))


@pytest.mark.parametrize(
    ("isa", "message"), [("sse9", "is unknown: choose from"), ([], "isa is empty")]
)
def test_an_unknown_isa_is_refused(
    isa: Any, message: str, files: dict[str, tuple[str, str]], store: TrustStore, folder: Path
) -> None:
    loaded = load_artifact(files["function"][0], store=store)
    with pytest.raises(UsageError, match=message):
        save_artifact(
            folder / "x.aot", aot_fn=loaded.callable, contract_json={}, isa=isa, store=store
        )
    assert not (folder / "x.aot").exists()


def test_kernels_of_one_width_are_not_built_for_another(
    files: dict[str, tuple[str, str]], store: TrustStore, folder: Path
) -> None:
    loaded = load_artifact(files["function"][0], store=store)
    kept = loaded.callable._artifacts.compiled_fn.kept
    other = "avx512" if kept.build.isa == "avx2" else "avx2"
    with pytest.raises(UsageError, match=r"Compile with options=\{'cpp\.simdlen'"):
        save_artifact(
            folder / "x.aot", aot_fn=loaded.callable, contract_json={}, isa=other, store=store
        )


def test_loading_leaves_no_folder_behind(
    files: dict[str, tuple[str, str]], store: TrustStore, tmp_path: Path
) -> None:
    before = os.environ.get("TMPDIR")
    tempfile.tempdir = str(tmp_path)
    try:
        load_artifact(files["function"][0], store=store)
        with pytest.raises(ArtifactError):
            load_artifact(files["eager"][0], trust="sha256:0", store=store)
    finally:
        tempfile.tempdir = None
    assert not list(tmp_path.iterdir())
    assert os.environ.get("TMPDIR") == before


def test_made_under_autocast_and_loaded_without(tmp_path: Path) -> None:
    x = torch.rand(8, 8)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        wb.aot_compile(lambda a: a @ a, (x,)).save(tmp_path / "half.aot")
    loaded = wb.load(tmp_path / "half.aot")
    assert not torch.is_autocast_enabled("cpu")
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert loaded(x).dtype == torch.bfloat16
    with pytest.raises(wb.ContractError, match="autocast on cpu: compiled for on, now off"):
        loaded(x)


@pytest.mark.parametrize(
    ("reference", "words"),
    [
        (b"c__main__\nGone\n.", r"needs Gone, which this program \(__main__\) does not have"),
        (b"cpathlib\nGone\n.", r"needs Gone, which the module pathlib does not have"),
        (b"\x80\x04\x8c\x07pathlib\x8c\x09Path.Gone\x93.", r"needs Path\.Gone, which the module"),
        (b"cgone\nGone\n.", r"needs the module gone, which cannot be imported here\. Install it"),
    ],
)
def test_what_is_not_here_is_named_first(reference: bytes, words: str) -> None:
    with pytest.raises(ArtifactError, match=words), explained("a.aot"):
        pickle.loads(reference)


class Kernel:
    """Stands for a Triton kernel of a user: torch keeps those of a process in one table."""

    def __init__(self, module: str) -> None:
        self.fn = lambda: None
        self.fn.__module__, self.fn.__name__ = module, "kernel"


def test_a_file_holds_no_triton_kernel_of_another_function(tmp_path: Path) -> None:
    table = tp.KERNEL_SIDE_TABLE.get()
    kept = dict(table.id_to_kernel)
    table.id_to_kernel[len(kept)] = foreign = Kernel("module_that_is_not_there")
    try:
        wb.aot_compile(torch.relu, (torch.ones(3),)).save(tmp_path / "relu.aot")
        assert table.id_to_kernel[len(kept)] is foreign
    finally:
        table.id_to_kernel = kept
    loaded = wb.load(tmp_path / "relu.aot")
    assert loaded(torch.tensor([-1.0, 0.0, 2.0])).tolist() == [0.0, 0.0, 2.0]


def test_two_kernels_of_one_number_are_not_mixed_up(monkeypatch: pytest.MonkeyPatch) -> None:
    here, there = Kernel("a"), Kernel("b")
    table = tp.KERNEL_SIDE_TABLE.get()
    monkeypatch.setattr(table, "id_to_kernel", {0: here})
    monkeypatch.setitem(sys.modules, "b", types.SimpleNamespace(kernel=there))
    bundle = pickle.dumps((None, {0: ("b", "kernel")}, {}))
    with pytest.raises(ArtifactError, match="needs the Triton kernel kernel at index 0, but"):
        BundleUnpickler(io.BytesIO(bundle)).entry()
    assert table.id_to_kernel == {0: here}
    monkeypatch.setattr(table, "constant_args", {0: {"n": 1}})
    with pytest.raises(ArtifactError, match="needs the constants of a Triton kernel at index 0"):
        BundleUnpickler(io.BytesIO(pickle.dumps((None, {}, {0: {"n": 2}})))).entry()
    assert table.constant_args == {0: {"n": 1}}
