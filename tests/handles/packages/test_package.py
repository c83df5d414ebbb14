"""A package in this process: called like the original, checked, swapped, closed."""

from __future__ import annotations

import gc
import os
import threading
import weakref
from pathlib import Path
from typing import Any

import pytest
import torch

import workbench as wb
from tests.agreement import largest_difference
from tests.compiler.packaging import samples
from tests.older_releases import since
from workbench.views.document import ViewContext, document


def test_it_is_called_like_the_module(small: Any) -> None:
    package = small.load()
    x, y = small.args
    torch.testing.assert_close(package(x, y), small.eager())
    torch.testing.assert_close(package(y=y, x=x), small.eager())
    torch.testing.assert_close(package(x, y, scale=2.0), small.eager())
    assert repr(package).splitlines()[0] == "Package(small.pt2)"
    assert package.report.request.name == "Small"


@pytest.mark.slow
def test_what_sizes_only_fit_together_is_shown(tmp_path: Path) -> None:
    def shorter(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        return a.sum(0) if a.shape[0] < b.shape[0] else b.sum(0)

    sizes: Any = {"a": {0: torch.export.Dim("n")}, "b": {0: torch.export.Dim("m")}}
    args = (torch.ones(4, 3), torch.ones(9, 3))
    package = wb.package(shorter, args, path=tmp_path / "a.pt2", dynamic_shapes=sizes)
    assert "model(a, b; only where n < m) on cpu" in repr(package)
    assert package.report.request.conditions == ("n < m",)
    groups = document(package.report, ViewContext())["artifact"]
    assert {"title": "Inputs", "facts": [("only where", "n < m")]} in groups


def test_nested_inputs_and_outputs_come_back_as_they_were(tied: Any) -> None:
    found, expected = tied.load()(*tied.args), tied.eager()
    assert list(found) == list(expected)
    torch.testing.assert_close(found["logits"], expected["logits"])
    assert found["none"] is None
    assert found["size"] == 4


def test_the_order_of_keys_does_not_matter(tied: Any) -> None:
    (batch,) = tied.args
    turned = dict(reversed(batch.items()))
    torch.testing.assert_close(tied.load()(turned)["logits"], tied.eager()["logits"])


def test_outputs_have_no_grad(small: Any) -> None:
    package = small.load()
    x, y = small.args
    with pytest.raises(wb.ContractError, match="computes no gradients"):
        package(x.clone().requires_grad_(), y)
    with torch.no_grad():
        assert not package(x.clone().requires_grad_(), y).requires_grad
    assert package(x, torch.nn.Parameter(y, requires_grad=False)).grad_fn is None


def test_after_close_a_call_says_what_to_do(small: Any) -> None:
    with small.load() as package:
        package(*small.args)
    package.close()  # twice is once
    with pytest.raises(wb.UsageError, match=r"closed: load it again with wb\.load"):
        package(*small.args)
    with pytest.raises(wb.UsageError, match="closed"):
        package.update_weights(small.module)
    with pytest.raises(wb.UsageError, match="closed"):
        _ = package.report


def test_outputs_outlive_the_package(small: Any) -> None:
    package = small.load()
    found = package(*small.args)
    package.close()
    torch.testing.assert_close(found, small.eager())


def test_nothing_stays_on_disk_and_the_package_is_collected(
    small: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    gc.collect()
    package = small.load()
    assert list(tmp_path.iterdir()) == []
    container = weakref.ref(package["model"]._container)
    handles = len(os.listdir("/proc/self/fd"))
    del package
    gc.collect()
    assert container() is None
    assert len(os.listdir("/proc/self/fd")) < handles  # others may be collected meanwhile, too


@since("2.13", "a library does not say why a call failed")
def test_what_fails_inside_is_told_without_a_dump(
    tied: Any, capfd: pytest.CaptureFixture[str]
) -> None:
    package = tied.load()
    bad = {"ids": torch.full((4, 8), 1000), "mask": torch.ones(4, 8)}
    with pytest.raises(wb.WorkbenchError, match=r"failed: index out of bounds: 0 <= tmp\d+ < 50"):
        package(bad)
    assert capfd.readouterr() == ("", "")
    torch.testing.assert_close(package(*tied.args)["logits"], tied.eager()["logits"])


def test_failing_calls_leak_nothing(tied: Any) -> None:
    import psutil

    package = tied.load()
    bad = {"ids": torch.full((4, 8), 1000), "mask": torch.ones(4, 8)}
    process = psutil.Process()

    def fail(times: int) -> int:
        for _ in range(times):
            with pytest.raises(wb.WorkbenchError):
                package(bad)
        return process.memory_info().rss

    before = fail(200)
    assert fail(1000) - before < 1 << 20  # a lost output alone would take 2 MB


def test_calls_queue_for_the_runners(small: Any) -> None:
    package = small.load(num_runners=2)
    assert package["model"].runners == 2
    problems: list[Any] = []

    def work(batch: int) -> None:
        x, y = torch.randn(batch, 16), torch.randn(batch, 8)
        expected = small.eager(x, y)
        for _ in range(100):
            if not largest_difference(package(x, y), expected) <= 1e-5:
                problems.append(batch)

    threads = [threading.Thread(target=work, args=(batch,)) for batch in range(1, 9)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not problems


def test_close_waits_for_running_calls(small: Any) -> None:
    package = small.load()
    started, refused = threading.Event(), []

    def work() -> None:
        x, y = torch.randn(64, 16), torch.randn(64, 8)
        try:
            while True:
                assert package(x, y).shape == (64, 8)
                started.set()
        except wb.UsageError as error:
            refused.append(str(error))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    started.wait()
    package.close()
    for thread in threads:
        thread.join()
    assert len(refused) == 4


def test_arguments_of_the_other_kind_of_file_are_refused(small: Any) -> None:
    with pytest.raises(wb.UsageError, match=r"external_data is for \.aot files"):
        small.load(external_data={"x": 1})
    with pytest.raises(wb.UsageError, match="num_runners is 0"):
        small.load(num_runners=0)


def test_a_package_of_somebody_else_is_refused(
    small: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AOT_WORKBENCH_DATA", str(tmp_path))
    with pytest.raises(wb.TrustError, match="signed by an unknown key"):
        small.load()
    digest = wb.inspect(small.path).digest
    assert small.load(trust=digest)(*small.args).shape == (4, 8)


def test_damaged_code_is_not_loaded(small: Any, tmp_path: Path) -> None:
    content = bytearray(small.path.read_bytes())
    content[content.index(b"\x7fELF") + 5000] ^= 1
    (tmp_path / "m.pt2").write_bytes(content)
    with pytest.raises(wb.ArtifactError, match=r"wrapper\.so has the wrong hash"):
        wb.load(tmp_path / "m.pt2")


@pytest.mark.slow
def test_the_notes_of_the_compilation_are_in_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WORKBENCH_TEST_SCALE", "3")
    path = tmp_path / "scaled.pt2"
    with pytest.warns(UserWarning, match="is frozen at capture"):
        made = wb.package(samples.scaled_from_outside, (torch.ones(4),), path=path)
    note = "model: the environment variable WORKBENCH_TEST_SCALE is frozen at capture: "
    for package in (made, wb.load(path, trust=made.digest)):
        assert package.notes[0].startswith(note)
        assert f"note: {note}" in repr(package)
        package.close()
        assert package.notes[0].startswith(note)
