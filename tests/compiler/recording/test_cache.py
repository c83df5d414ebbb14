import pytest
import torch

from workbench.compiler.internals import torch_private as tp
from workbench.compiler.recording.capture import Recorder


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
