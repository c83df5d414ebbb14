import pickle

import pytest
import torch
from torch._functorch._aot_autograd.autograd_cache import AOTAutogradCache

import workbench as wb
from workbench.compiler.internals import torch_private as tp
from workbench.compiler.recording.recorder import Recorder


def raised(x):
    return x.relu() + 1


def answers(folder, monkeypatch, **options):
    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", str(folder))
    torch.compiler.reset()
    with Recorder() as recorder:
        torch.compile(lambda x: x.relu() + 1, fullgraph=True, options=options)(torch.ones(8))
    rows = recorder.report().cache
    return [(row.outcome, row.key, row.reason) for row in rows if row.cache == "FX graph cache"]


@pytest.fixture
def no_key(monkeypatch):
    def asked(*_):
        raise AssertionError("the key was computed")

    monkeypatch.setattr(tp.FX_GRAPH_CACHE.get(), "prepare_key", asked)


@pytest.mark.usefixtures("no_key")
def test_an_empty_cache_misses_without_a_key(tmp_path, monkeypatch):
    assert answers(tmp_path, monkeypatch) == [("miss", None, None)]


@pytest.mark.usefixtures("no_key")
def test_an_empty_cache_refuses_what_a_full_one_would(tmp_path, monkeypatch):
    def refuse(*_):
        raise tp.FX_CACHE_BYPASS.get()("not this one")

    monkeypatch.setattr(tp.FX_GRAPH_CACHE.get(), "_check_can_cache", refuse)
    assert answers(tmp_path, monkeypatch) == [("bypass", None, "not this one")]


def test_a_cache_with_graphs_is_asked(tmp_path, monkeypatch):
    (tmp_path / "fxgraph" / "zz").mkdir(parents=True)
    [(outcome, key, reason)] = answers(tmp_path, monkeypatch)
    assert (outcome, reason) == ("miss", None)
    file = tmp_path / "fxgraph" / key[1:3] / key / "graph"
    file.parent.mkdir(parents=True)
    file.touch()
    assert answers(tmp_path, monkeypatch) == [("hit", key, None)]


@pytest.mark.parametrize("capture", ["light", "full"])
def test_an_entry_whose_guards_ask_for_sizes_that_are_not_there_is_a_miss(
    tmp_path, monkeypatch, capture
):
    monkeypatch.setattr(AOTAutogradCache, "_get_tmp_dir_for_key", lambda key: str(tmp_path))
    x = torch.ones(8)
    wb.aot_compile(raised, (x,), capture="light")
    [entry] = tmp_path.iterdir()
    kept = pickle.loads(entry.read_bytes())
    kept.guards_expr = "L['t0'] > 1"
    entry.write_bytes(pickle.dumps(kept))
    torch.compiler.reset()
    compiled = wb.aot_compile(raised, (x,), capture=capture)
    assert torch.equal(compiled(x), x + 1)
    [row] = [row for row in compiled.report.cache if row.cache == "AOTAutograd cache"]
    assert (row.outcome, row.reason) == ("miss", "an entry cannot be used (KeyError): 't0'")
