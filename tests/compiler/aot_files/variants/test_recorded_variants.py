"""A function with a break, saved with its variants, runs in a process that has no compiler."""

from __future__ import annotations

import inspect
import json
import logging
import shutil
import sys
import zipfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
import torch

import tests.variant_samples as samples
import workbench as wb
from tests.fresh_process import run_fresh, run_script
from tests.variant_samples import SHARED, Block, adds_shared, batch, scored, step
from workbench.compiler.internals import torch_private as tp
from workbench.errors import ArtifactError, TrustError, UsageError

LOADING = "tests.variant_loading"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("variants")


@pytest.fixture(scope="module")
def file(folder: Path) -> Path:
    """The function for batches of 4 rows and of any other number."""
    with torch.no_grad():
        recorded = wb.variants(scored, [(batch(4),), (batch(6),)])
    recorded.save(folder / "scored.aotv")
    return folder / "scored.aotv"


@pytest.fixture
def without_gradients() -> Iterator[None]:
    with torch.no_grad():
        yield


def test_a_fresh_process_compiles_nothing_and_needs_no_compiler(file: Path, folder: Path) -> None:
    found = json.loads(run_fresh(folder, LOADING, str(file), "function"))
    assert found["frames"] == found["inductor"] == {}  # Dynamo and Inductor were not asked
    assert found["misses"] == 0
    for rows, values in zip((4, 6, 9), found["results"], strict=True):
        torch.testing.assert_close(torch.tensor(values), scored(batch(rows)).flatten())


@pytest.mark.slow
def test_a_training_step_comes_from_the_file_too(folder: Path) -> None:
    model = Block()
    calls = [lambda call, rows=rows: step(call, model, rows) for rows in (4, 6)]
    wb.variants(model, calls).save(folder / "block.aotv")
    found = json.loads(run_fresh(folder, LOADING, str(folder / "block.aotv"), "training"))
    assert found["frames"] == found["inductor"] == {}
    for rows, values in zip((4, 6, 9), found["results"], strict=True):
        expected = torch.tensor(step(model, model, rows))
        torch.testing.assert_close(torch.tensor(values), expected)


@pytest.mark.usefixtures("without_gradients")
def test_the_tables_name_the_parts_and_the_guards_that_no_file_holds() -> None:
    recorded = wb.variants(scored, [(batch(4),)])
    parts = recorded.frame("variants")
    assert parts.is_resumed.to_list() == [False, True]
    assert parts.variants.to_list() == [1, 1]
    assert "G['torch'].sin" in recorded.frame("guards").name.to_list()
    assert recorded.frame("breaks").file.to_list() == ["tests/variant_samples.py"]
    with pytest.raises(UsageError, match="variants"):
        recorded.frame("calls")
    with wb.session() as outer:
        assert wb.variants(scored, [(batch(4),)]).session is None
    assert len(outer.frame("compiles")) == 2  # told there


def test_the_file_tells_how_it_was_compiled(file: Path, tmp_path: Path) -> None:
    copy = shutil.copy(file, tmp_path / "copy.aotv")
    loaded = wb.load(copy, scored)
    assert wb.show(loaded).frame("compiles").kind.to_list() == [
        "first",
        "resume",
        "recompile",
        "recompile",
    ]
    assert loaded.session.report(0).kernels
    assert list(inspect.signature(loaded).parameters) == ["x"]
    loaded.close()
    wb.aot_compile(torch.relu, (batch(4),), backend="eager").save(copy)
    with pytest.raises(ArtifactError, match="has changed since it was loaded"):
        _ = loaded.session


@pytest.mark.usefixtures("without_gradients")
def test_a_call_that_nothing_fits_is_compiled_run_or_refused(file: Path) -> None:
    for on_miss in ("eager", "error"):
        loaded = wb.load(file, scored, on_miss=on_miss)
        torch.testing.assert_close(loaded(batch(5)), scored(batch(5)))
        loaded.close()
    refusing = wb.load(file, scored, on_miss="error")
    with (
        torch.enable_grad(),
        pytest.raises(ArtifactError, match=r"No variant of scored .* \(does not hold: .*grad_mode"),
    ):
        refusing(batch(4).requires_grad_())
    assert refusing.misses == 1
    refusing.close()
    with pytest.raises(UsageError, match="on_miss"):
        wb.load(file, scored, on_miss="guess")


@pytest.mark.usefixtures("without_gradients")
@pytest.mark.parametrize("on_miss", ["eager", "error"])
def test_another_thread_compiles_while_a_call_is_under_way(
    file: Path, on_miss: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    graphs: list[str] = []

    @torch.compiler.disable
    def elsewhere(*_: object) -> None:
        code = torch.compile(torch.cosh, backend=lambda graph, _: graphs.append("") or graph)
        with ThreadPoolExecutor(1) as pool:
            pool.submit(code, batch(4)).result()

    monkeypatch.setattr(sys, "stderr", SimpleNamespace(write=elsewhere, flush=lambda: None))
    loaded = wb.load(file, scored, on_miss=on_miss)
    loaded(batch(4))
    loaded.close()
    assert graphs


def test_a_guard_that_reads_what_only_the_other_process_had_is_one_sentence(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As with models of transformers, whose guards count the classes that were made."""

    def install(*_: object) -> None:
        raise IndexError("list index out of range")

    monkeypatch.setattr(tp.COMPILE_PACKAGE.get(), "install", install)
    with pytest.raises(ArtifactError, match=r"an entry that this process lacks, IndexError"):
        wb.load(file, scored)


def test_nothing_of_a_file_runs_before_it_is_trusted(
    file: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("AOT_WORKBENCH_DATA", str(tmp_path))  # another user
    monkeypatch.setattr("workbench.compiler.aot_files.variants.variant_files._read", None)
    with pytest.raises(TrustError):
        wb.load(file, scored)


def test_a_file_of_variants_is_inspected_and_checked(file: Path) -> None:
    found = wb.inspect(file)
    assert len(found.frame("libraries")) == 4
    guards = found.frame("guards")
    assert guards[guards.name == "L['x']"].kept.all()
    assert not guards[guards.name == "G['torch'].sin"].kept.any()
    assert [text.name for text in found.texts if text.language == "cpp"]
    assert wb.check(file).ok
    assert not wb.check(file, {"torch": "2.12.0"}).ok


def test_another_function_or_none_is_refused(file: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"wb\.load\(path, fn\)"):
        wb.load(file)
    with pytest.raises(ArtifactError, match=r"the code of scored, not of batch"):
        wb.load(file, batch)
    with pytest.raises(UsageError, match=r"calls is empty"):
        wb.variants(scored, [])
    x = torch.ones(4)
    for calls, words in (
        (x, r"calls is a Tensor: expected a list of tuples or functions"),
        ([x], r"its item a Tensor is not a tuple or a function"),
        ([[x]], r"calls contains a list. Write each call as a tuple"),
    ):
        with pytest.raises(UsageError, match=words):
            wb.variants(scored, calls)  # type: ignore[arg-type]
    wb.aot_compile(torch.relu, (batch(4),), backend="eager").save(tmp_path / "f.aot")
    with pytest.raises(UsageError, match=r"on_miss is for \.aotv"):
        wb.load(tmp_path / "f.aot", on_miss="error")


def test_a_guard_that_cannot_be_written_is_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    class Local:
        weight = samples.WEIGHT

        def __rmatmul__(self, other: torch.Tensor) -> torch.Tensor:
            return other @ self.weight

    monkeypatch.setattr(samples, "WEIGHT", Local())
    with torch.no_grad(), pytest.raises(ArtifactError, match=r"guards? .*cannot be serialized"):
        wb.variants(scored, [(batch(4),)])


def test_a_changed_source_is_one_sentence(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def scored(x: torch.Tensor) -> torch.Tensor:
        return x

    changed = scored.__code__.replace(co_qualname="scored")
    monkeypatch.setattr(samples.scored, "__code__", changed)
    with pytest.raises(ArtifactError, match="different source of scored of tests"):
        wb.load(file, samples.scored)


@pytest.mark.usefixtures("without_gradients")
def test_what_was_compiled_in_is_compared_with_each_call(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wb.variants(samples.helped, [(batch(4),)]).save(tmp_path / "helped.aotv")
    loaded = wb.load(tmp_path / "helped.aotv", samples.helped)
    torch.testing.assert_close(loaded(batch(4)), samples.helped(batch(4)))
    with monkeypatch.context() as patch:
        patch.setattr(samples, "helper", lambda x, factor=2: x - factor)
        with pytest.raises(ArtifactError, match="recorded with different code"):
            loaded(batch(4))
    loaded(batch(4))
    loaded.close()
    monkeypatch.setattr(samples.helper, "__defaults__", (3,))
    with pytest.raises(ArtifactError, match="a different source of helper of tests"):
        wb.load(tmp_path / "helped.aotv", samples.helped)


SCRIPT = """{comment}
import sys
import torch
import workbench as wb

def helper(x):
    return x.{operation}()

def f(x):
    y = helper(x) + 1
    print("in the middle", file=sys.stderr)
    return y.relu()

x = torch.linspace(-1, 1, 32).reshape(4, 8)
with torch.no_grad():
    if "save" in sys.argv:
        wb.variants(f, [(x,), (x[:3],)]).save("f.aotv")
    try:
        loaded = wb.load("f.aotv", f, on_miss="error")
        torch.testing.assert_close(loaded(x[:2]), f(x[:2]))
        print(loaded)
    except wb.ArtifactError as error:
        print(error)
"""
CELL = (
    "from IPython.core.interactiveshell import InteractiveShell as S; S.instance().run_cell({!r})"
)


@pytest.mark.slow
@pytest.mark.parametrize("typed", [False, True])
def test_a_function_of_a_script_or_a_cell_may_move_but_not_change(
    folder: Path, tmp_path: Path, typed: bool
) -> None:
    def run(comment: str, operation: str, *arguments: str) -> str:
        text = SCRIPT.format(comment=comment, operation=operation)
        (tmp_path / "script.py").write_text(CELL.format(text) if typed else text)
        return run_script(tmp_path, *arguments)

    assert "misses=0" in run("", "sin", "save")
    assert "misses=0" in run("# a line more", "sin")
    assert "a different source of helper of __main__" in run("", "cos")


@pytest.mark.usefixtures("without_gradients")
def test_an_argument_that_is_a_global_is_refused() -> None:
    torch.compiler.reset()
    with torch.no_grad(), pytest.raises(wb.ArtifactError, match="SHARED and x were the same"):
        wb.variants(adds_shared, [(SHARED,)])


def test_what_cannot_be_read_back_is_refused_when_it_is_saved(tmp_path: Path) -> None:
    torch.compiler.reset()
    with torch.no_grad():
        recorded = wb.variants(samples.reads_settings, [(batch(4), samples.Unreadable())])
    with pytest.raises(wb.ArtifactError, match="read back: ValueError: no such settings"):
        recorded.save(tmp_path / "a.aotv")
    assert not list(tmp_path.iterdir())


def test_torch_is_as_before(file: Path) -> None:
    held = (tp.PRECOMPILE_CODES, tp.PRECOMPILE_GRAPHS, tp.PRECOMPILE_STORE, tp.DYNAMO_CONFIG)
    before = [row.get() for row in held], logging.getLogger("torch._dynamo.guards").filters[:]
    names = set(vars(samples))
    wb.variants(scored, [(batch(4),)])
    wb.load(file, scored).close()
    assert [row.get() for row in held] == before[0]
    assert logging.getLogger("torch._dynamo.guards").filters == before[1]
    assert not tp.DYNAMO_CONFIG.get().caching_precompile
    # torch leaves its names of modules and of the builtins after any compilation
    kept = ("__import_", "__builtins_dict__")
    assert {name for name in vars(samples) if not name.startswith(kept)} <= names
    assert tp.CACHE_ENTRIES.get()(scored.__code__) == []


@pytest.mark.usefixtures("without_gradients")
def test_a_value_of_a_module_or_of_the_environment_is_compared_when_a_file_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    token = f"sesame{40 + 1}"
    monkeypatch.setenv("WB_TEST_TOKEN", token)
    monkeypatch.setattr(samples, "TOKEN", token)
    settings = ModuleType("settings_of_variants")
    vars(settings)["SCALE"] = 2.0
    monkeypatch.setitem(sys.modules, settings.__name__, settings)
    monkeypatch.setattr(samples, "settings", settings)
    file = tmp_path / "f.aotv"
    recorded = wb.variants(samples.of_settings, [(torch.ones(3),)])
    recorded.save(file)
    with zipfile.ZipFile(file) as archive:
        assert not any(token.encode() in archive.read(name) for name in archive.namelist())
    rows = recorded.frame("guards").set_index("name")
    assert rows.frozen["G['TOKEN']"] == "from the environment (value not shown)"
    torch.compiler.reset()

    for holder, name, value in (
        (settings, "SCALE", 5.0),
        (samples, "TOKEN", "another"),
    ):
        with monkeypatch.context() as changed:
            changed.setattr(holder, name, value)
            with pytest.raises(ArtifactError, match=f"different values of globals.*\n.*{name}"):
                wb.load(file, samples.of_settings, trust=True)
    loaded = wb.load(file, samples.of_settings, trust=True)
    torch.testing.assert_close(loaded(torch.ones(3)), torch.full((3,), 7.0))
    loaded.close()


@pytest.mark.usefixtures("without_gradients")
def test_two_values_of_a_module_or_of_the_environment_are_refused_while_recording(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    settings = ModuleType("settings_of_variants")
    vars(settings).update(SCALE=2.0, MODE="fast")
    monkeypatch.setitem(sys.modules, settings.__name__, settings)
    monkeypatch.setattr(samples, "settings", settings)
    monkeypatch.setenv("WB_TEST_TOKEN", token := f"sesame{40 + 1}")
    monkeypatch.setattr(samples, "TOKEN", token)
    x = torch.ones(3)
    for function, holder, name in (
        (samples.of_settings, samples, "TOKEN"),
        (samples.by_mode, settings, "MODE"),
    ):

        def with_another(call: Any, holder: Any = holder, name: str = name) -> None:
            monkeypatch.setattr(holder, name, "another")
            call(x)

        with pytest.raises(ArtifactError, match=f"{name}.* had two values while .* recorded") as e:
            wb.variants(function, [(x,), with_another])
        assert token not in str(e.value)
        torch.compiler.reset()


@torch.compiler.disable
def disabled(x: torch.Tensor) -> torch.Tensor:
    return x + 1


class Disabled(torch.nn.Module):
    @torch.compiler.disable
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + 1


@pytest.mark.parametrize("fn", [disabled, Disabled()], ids=["function", "module"])
def test_what_is_kept_from_being_compiled_is_refused_before_it_is_saved(fn: Any) -> None:
    with pytest.raises(wb.UsageError, match=r"is under torch.compiler.disable"):
        wb.variants(fn, [(torch.ones(2),)])
