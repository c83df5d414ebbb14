"""What cannot be captured is refused by name, with what to do, and never by a raw error."""

from __future__ import annotations

import logging
import threading
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

import workbench as wb
from tests.older_releases import since
from workbench.compiler.packaging.exporting import check_exportable, export
from workbench.compiler.packaging.package_request import ModelRequest
from workbench.handles.packages.package import Package

X = torch.ones(3)
CALLS = 0


class Pair:
    def __init__(self, a: Tensor, b: Tensor) -> None:
        self.a, self.b = a, b


class CallsScript(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.script = torch.jit.trace(nn.Linear(3, 3), X)

    def forward(self, x: Tensor) -> Tensor:
        return self.script(x) + 1


class Locked(nn.Module):
    """Sets something up under a lock at its first call, as models of transformers do."""

    def __init__(self) -> None:
        super().__init__()
        self.inner = nn.Linear(3, 3)
        self.is_set_up = False
        self.lock = threading.Lock()

    def forward(self, x: Tensor) -> Tensor:
        if not self.is_set_up:
            with self.lock:
                self.inner.register_forward_hook(lambda *_: CALLED.append(1))
                self.is_set_up = True
        return self.inner(x)


CALLED: list[int] = []


def generating(x: Tensor) -> Iterator[Tensor]:
    yield x + 1


async def waiting(x: Tensor) -> Tensor:
    return x + 1


def doubled(x: Tensor) -> Tensor:
    return x * 2


def sized(x: Tensor) -> int:
    return x.shape[0]


def unequal(x: Tensor) -> Tensor:
    return x @ torch.ones(7, 7)


LINEAR = nn.Linear(3, 3)


def narrow(x: Tensor) -> Tensor:
    return LINEAR(x)


def counted(x: Tensor) -> Tensor:
    global CALLS
    CALLS = CALLS + 1
    return x + CALLS


def paired(x: Tensor) -> Pair:
    return Pair(x, x + 1)


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Package:
    return packaged(tmp_path_factory.mktemp("doubled"))(doubled, (X,))


def packaged(folder: Path) -> Callable[..., Package]:
    return lambda fn, args: wb.package(fn, args, path=folder / "a.pt2")


@pytest.mark.parametrize(
    ("fn", "words"),
    [
        (torch.jit.trace(nn.Linear(3, 3), X), "TorchScript code cannot be traced"),
        (generating, "generating is a generator function"),
        (waiting, "waiting is a coroutine function"),
        ("text", "'text'"),
    ],
)
def test_what_is_no_function_of_python(fn: Any, words: str, tmp_path: Path) -> None:
    for call in (wb.aot_compile, wb.explain, packaged(tmp_path)):
        with pytest.raises(wb.UsageError) as caught:
            call(fn, (X,))
        assert words in str(caught.value)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: torch.eye(3).to_sparse(), "x is a sparse_coo tensor: only dense tensors"),
        (lambda: torch.eye(3).to_sparse_csr(), "x is a sparse_csr tensor: only dense tensors"),
        (lambda: torch.eye(3).to_mkldnn(), "x is a mkldnn tensor: only dense tensors"),
        (lambda: torch.nested.nested_tensor([X, X], layout=torch.jagged), "x is a nested tensor"),
        (lambda: torch.nested.nested_tensor([X, X]), "x is a nested tensor"),
        (
            lambda: torch.quantize_per_tensor(X, 0.1, 0, torch.quint8),
            "x is a legacy quantized tensor",
        ),
    ],
)
def test_inputs_without_plain_memory(
    make: Callable[[], Tensor], words: str, tmp_path: Path
) -> None:
    for call in (wb.aot_compile, packaged(tmp_path)):
        with pytest.raises(wb.UsageError) as caught:
            call(doubled, (make(),))
        assert words in str(caught.value)


@pytest.mark.parametrize(
    ("fn", "words"),
    [
        (sized, "sized computes no tensor, so there is nothing to compile"),
        (counted, "counted assigns to the global CALLS"),
        (unequal, "unequal fails on these inputs: matmul does not take tensors of shapes [3]"),
        (CallsScript(), "It calls a module from torch.jit.trace or torch.jit.script"),
    ],
)
def test_the_plain_cause_comes_first(fn: Any, words: str) -> None:
    with pytest.raises(wb.CaptureError) as caught:
        wb.aot_compile(fn, (torch.ones(3, 3) if isinstance(fn, nn.Module) else X,))
    assert words in str(caught.value)
    assert "Explanation: \n" not in str(caught.value)


def test_shapes_that_do_not_fit_lead_with_the_operator_and_the_line_of_the_user(
    caplog: pytest.LogCaptureFixture,
) -> None:
    log = logging.getLogger("torch._subclasses.fake_tensor")
    log.addHandler(caplog.handler)
    try:
        with pytest.raises(wb.CaptureError) as caught:
            wb.aot_compile(narrow, (torch.ones(2, 7),), backend="eager")
    finally:
        log.removeHandler(caplog.handler)
    head, own, inside, *_ = str(caught.value).splitlines()
    assert head == (
        "narrow fails on these inputs: linear does not take tensors of shapes [2, 7], [3, 3] and "
        "[3]: a and b must have same reduction dim, but got [2, 7] X [3, 3]."
    )
    assert own.endswith('in narrow: "return LINEAR(x)"')
    assert "in forward" in inside
    logged = [row for row in caplog.records if row.levelno >= logging.WARNING]
    assert not logged  # what the error says is not logged in red as well


def test_a_lock_of_a_first_call_is_told_with_the_cure() -> None:
    model = Locked().eval()
    with pytest.raises(wb.CaptureError, match="call the function once before compiling it"):
        wb.aot_compile(model, (X,))
    model(X)
    torch.testing.assert_close(wb.aot_compile(model, (X,), backend="eager")(X), model(X))


def test_a_capture_leaves_the_model_as_if_it_had_not_been_called() -> None:
    model = Locked().eval()
    with pytest.warns(UserWarning, match="is_set_up is not updated by the package"):
        export(check_exportable(ModelRequest(model, (X,))))
    assert not model.is_set_up
    assert not model.inner._forward_hooks
    CALLED.clear()
    model(X)
    assert CALLED == [1]


@pytest.mark.parametrize("call", [wb.aot_compile, wb.compile_async, wb.explain, wb.roundtrip])
def test_inputs_that_are_no_tuple_and_no_dict(call: Any) -> None:
    with pytest.raises(wb.UsageError, match="args is a Tensor: expected a tuple"):
        call(doubled, X)
    with pytest.raises(wb.UsageError, match="kwargs is a tuple: expected a dict or None"):
        call(doubled, (X,), (X,))


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"options": "max_autotune"}, "options is 'max_autotune': expected a dict or None"),
        ({"dynamic_shapes": 3}, "dynamic_shapes is of type int: expected a dict"),
        ({"target": ["h100"]}, r"target is \['h100'\]: expected"),
        ({"progress": 3}, "progress is 3: expected a function"),
    ],
)
def test_a_value_of_another_kind_is_named(given: dict[str, Any], words: str) -> None:
    with pytest.raises(wb.UsageError, match=words):
        wb.aot_compile(doubled, (X,), **given)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: wb.sweep(doubled, (X,), over={"mode": ["default"]}, jobs="a"), "jobs is 'a'"),
        (lambda: wb.load("a.pt2", num_runners="a"), "num_runners is 'a'"),
        (lambda: wb.profile(doubled, (X,)), "profile takes the result of aot_compile"),
        (lambda: wb.targets(3), "name is 3: expected a text or None"),
    ],
)
def test_other_functions_name_such_a_value_too(
    call: Callable[[], Any], words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with zipfile.ZipFile("a.pt2", "w") as file:
        file.writestr("a/b", "")
    with pytest.raises(wb.UsageError, match=words):
        call()


def test_a_class_that_torch_does_not_know_is_registered(tmp_path: Path) -> None:
    with pytest.raises(wb.CaptureError) as caught:
        packaged(tmp_path)(paired, (X,))
    words = str(caught.value)
    assert "Pair is part of the output" in words
    assert "torch.utils._pytree.register_pytree_node" in words
    assert "custom_op" not in words


def test_a_refused_export_prints_nothing_of_torch(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(wb.CaptureError, match="must have same reduction dim"):
        packaged(tmp_path)(unequal, (X,))
    assert capfd.readouterr().err == ""


def test_another_default_dtype_is_named() -> None:
    compiled = wb.aot_compile(doubled, (X,), backend="eager")
    torch.set_default_dtype(torch.float64)
    try:
        with pytest.raises(wb.ContractError, match="compiled for float32, now float64"):
            compiled(X)
    finally:
        torch.set_default_dtype(torch.float32)


@pytest.mark.slow
def test_a_negated_view_and_a_conjugated_one_are_told_apart(package: Package) -> None:
    with pytest.raises(wb.ContractError, match=r"negation .* \.resolve_neg\(\)"):
        package(torch.ones(3, dtype=torch.complex64).conj().imag)
    with pytest.raises(wb.ContractError, match=r"conjugation .* \.resolve_conj\(\)"):
        package(torch.ones(3, dtype=torch.complex64).conj())


def jagged() -> Tensor:
    return torch.nested.nested_tensor([torch.ones(2, 3), torch.ones(4, 3)], layout=torch.jagged)


@pytest.mark.parametrize("target", ["host", "h100"])
def test_a_jagged_input_is_refused_for_every_target(target: str) -> None:
    with pytest.raises(wb.UsageError, match=r"x is a nested tensor: .* Pass its values\(\) and"):
        wb.aot_compile(doubled, (jagged(),), target=target)
    with pytest.raises(wb.UsageError, match="x is a nested tensor"):
        wb.compile_async(doubled, (jagged(),), target=target)


@pytest.mark.slow
def test_a_jagged_input_of_a_call_is_named(package: Package) -> None:
    compiled = wb.aot_compile(doubled, (X,), backend="eager")
    for made in (compiled, package):
        with pytest.raises(wb.ContractError, match=r"x: .*([Nn]ested ?[Tt]ensor)"):
            made(jagged())


def gradient(x: Tensor) -> Tensor:
    (first,) = torch.autograd.grad((x**3).sum(), x, create_graph=True)
    return torch.autograd.grad(first.sum(), x)[0]


def backward(x: Tensor) -> Tensor:
    own = x.detach().requires_grad_()
    (own**2).sum().backward()
    assert own.grad is not None
    return own.grad


@since("2.12", "there is no such switch")
@pytest.mark.parametrize("function", [gradient, backward])
def test_gradients_taken_inside_name_the_switch_that_captures_them(
    function: Callable[[Tensor], Tensor],
) -> None:
    x = torch.randn(3, requires_grad=True)
    with pytest.raises(wb.CaptureError, match=r"Cure: .*patch\(trace_autograd_ops=True\)"):
        wb.aot_compile(function, (x,), backend="eager")
    with pytest.raises(wb.CaptureError) as caught:
        wb.aot_compile(function, (x,), backend="eager")
    is_told = "Return the loss, and call .backward()" in str(caught.value)
    assert is_told == (function is backward)
    with torch._dynamo.config.patch(trace_autograd_ops=True):
        compiled = wb.aot_compile(function, (x,), backend="aot_eager")
    torch.testing.assert_close(compiled(x), function(x))


def test_a_call_with_another_requires_grad_says_what_to_pass() -> None:
    x = torch.randn(3, requires_grad=True)
    with pytest.raises(wb.ContractError, match=r"x: .* got True; pass x\.detach\(\), or compile"):
        wb.aot_compile(doubled, (X,), backend="eager")(x)
    with pytest.raises(wb.ContractError, match=r"got False; pass x\.requires_grad_\(\), or"):
        wb.aot_compile(doubled, (x,), backend="eager")(X)


def test_a_break_leads_to_its_cures_and_to_a_file_that_keeps_it() -> None:
    def prints(x: Tensor) -> Tensor:
        print(x.sum())
        return x.sin()

    with pytest.raises(wb.CaptureError, match="cannot be captured in one graph") as caught:
        wb.aot_compile(prints, (X,))
    last = str(caught.value).splitlines()[-1]
    assert all(f"workbench.{name}(fn, " in last for name in ("explain", "rehearse", "variants"))


@pytest.mark.parametrize("phase", ["compile", "inductor_compile"])
def test_what_progress_raises_is_no_failure_of_the_compiler(phase: str) -> None:
    """It was told as one, with the advice to compile with another backend."""

    def listen(name: str, _seconds: float) -> None:
        if name == phase:
            raise KeyError("mine")

    with pytest.raises(KeyError, match="mine") as raised:
        wb.aot_compile(lambda x: x.sin().sum(), (torch.ones(8),), grad=False, progress=listen)
    assert not raised.value.report.outcome.ok  # type: ignore[attr-defined]
