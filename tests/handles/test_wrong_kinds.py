"""Inputs of a kind that compiled code cannot read, and callers that cannot see into it.

None ends the process or gives a wrong number: live, loaded and packaged.
"""

from __future__ import annotations

import io
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn
from torch._subclasses import FakeTensorMode
from torch.autograd import forward_ad
from torch.fx.experimental.proxy_tensor import make_fx
from torch.overrides import TorchFunctionMode
from torch.utils._debug_mode import DebugMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.flop_counter import FlopCounterMode

import workbench as wb
from workbench.handles.packages.package import Package

X = torch.randn(4, 6)
ROWS = torch.export.Dim("rows", min=2)
SLOW = pytest.mark.slow
HANDLES = (
    "live",
    "nested in a list",
    "package",
    *(pytest.param(name, marks=SLOW) for name in ("varying", "loaded", "varying package")),
)


def scaled(a: torch.Tensor) -> torch.Tensor:
    return (a * 2).sum(-1)


def first(parts: list[torch.Tensor]) -> torch.Tensor:
    return parts[0] * 2


def looked_up(table: torch.Tensor, places: torch.Tensor) -> torch.Tensor:
    return table[places]


def made(which: str, fn: Callable[..., Any], args: tuple[Any, ...], folder: Path) -> Any:
    shapes: Any = {"a": {0: ROWS}} if "varying" in which else None
    if "package" in which:
        return wb.package(fn, args, path=folder / "a.pt2", dynamic_shapes=shapes)
    compiled = wb.aot_compile(fn, args, backend="eager", dynamic_shapes=shapes)
    if which != "loaded":
        return compiled
    compiled.save(folder / "a.aot")
    return wb.load(folder / "a.aot")


@pytest.fixture(scope="module")
def packaged(tmp_path_factory: pytest.TempPathFactory) -> Package:
    return made("package", scaled, (X,), tmp_path_factory.mktemp("packaged"))


@pytest.fixture(scope="module", params=HANDLES)
def handle(
    request: pytest.FixtureRequest, packaged: Package, tmp_path_factory: pytest.TempPathFactory
) -> Any:
    which, folder = request.param, tmp_path_factory.mktemp("kinds")
    if which == "package":
        return packaged
    if which == "nested in a list":
        compiled = wb.aot_compile(first, ([X],), backend="eager")
        return lambda a: compiled([a])
    return made(which, scaled, (X,), folder)


def nested(**options: Any) -> torch.Tensor:
    parts = [torch.randn(2, 6), torch.randn(3, 6)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return torch.nested.nested_tensor(parts, **options)


def fake() -> torch.Tensor:
    return FakeTensorMode().from_tensor(X)


class Own(torch.Tensor):
    pass


KINDS: dict[str, tuple[Callable[[], Any], str]] = {
    "nested": (nested, "got a nested tensor: pad it"),
    "nested, empty": (lambda: torch.nested.nested_tensor([]), "got a nested tensor"),
    "nested of doubles": (lambda: nested().double(), "got a nested tensor"),
    "nested with gradient": (lambda: nested().requires_grad_(), "got a nested tensor"),
    "nested parameter": (lambda: torch.nn.Parameter(nested()), "got a nested tensor"),
    "nested and jagged": (lambda: nested(layout=torch.jagged), "got a nested tensor"),
    "sparse": (X.to_sparse, r"got torch\.sparse_coo: call \.to_dense\(\)"),
    "sparse rows": (X.to_sparse_csr, r"got torch\.sparse_csr: call \.to_dense\(\)"),
    "sparse columns": (X.to_sparse_csc, r"got torch\.sparse_csc: call \.to_dense\(\)"),
    "sparse blocks": (lambda: X.to_sparse_bsr((2, 2)), r"got torch\.sparse_bsr: call"),
    "mkldnn": (X.to_mkldnn, r"got torch\._mkldnn: call \.to_dense\(\)"),
    "quantized": (
        lambda: torch.quantize_per_tensor(X, 0.1, 0, torch.qint8),
        r"it is quantized: call \.dequantize\(\)",
    ),
    "meta": (lambda: X.to("meta"), "expected device cpu, got meta"),
    "no dimension": (lambda: torch.tensor(1.0), r"expected shape .*, got \[\]"),
    "fake": (fake, "got FakeTensor, which has no values"),
    "subclass": (lambda: X.as_subclass(Own), "expected a plain tensor, got Own"),
    "lazy parameter": (torch.nn.UninitializedParameter, "it has no memory yet: run the lazy"),
    "lazy buffer": (torch.nn.UninitializedBuffer, "it has no memory yet: run the lazy"),
    "functional": (lambda: torch._to_functional_tensor(X), r"\.clone\(\)"),
    "zeros without memory": (lambda: torch._efficientzerotensor((4, 6)), r"\.clone\(\)"),
    "None": (lambda: None, "got NoneType"),
}


@pytest.mark.parametrize("kind", KINDS)
def test_it_is_refused_by_name(handle: Any, kind: str) -> None:
    make, words = KINDS[kind]
    with pytest.raises(wb.ContractError, match=words):
        handle(make())
    assert handle(X).numel() in (4, 24)  # and the next call runs


def test_it_is_refused_as_an_example_too() -> None:
    with pytest.raises(wb.WorkbenchError, match="nested"):
        wb.aot_compile(scaled, (nested(),), backend="eager")


def dual(call: Callable[..., Any]) -> Any:
    with forward_ad.dual_level():
        return forward_ad.unpack_dual(call(forward_ad.make_dual(X, torch.ones_like(X)))).tangent


def counted(call: Callable[..., Any]) -> None:
    with FlopCounterMode(display=False):
        call(X)


def faked(call: Callable[..., Any]) -> None:
    with FakeTensorMode() as mode:
        call(mode.from_tensor(X))


def noted(call: Callable[..., Any]) -> None:
    with Noting():
        call(X)


class Noting(TorchDispatchMode):
    def __torch_dispatch__(
        self, func: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> torch.Tensor:
        return func(*args, **(kwargs or {}))  # type: ignore[no-any-return]


def plain_under(mode: Callable[[], Any]) -> Callable[[Any], None]:
    """A call with plain tensors under a mode, some of which torch's guards pass over."""

    def run(call: Any) -> None:
        with mode():
            call(X)

    return run


AROUND: dict[str, tuple[Callable[[Any], Any], str]] = {
    "make_fx": (lambda call: make_fx(call)(X), "make_fx sees individual operators"),
    "make_fx of fakes": (lambda call: make_fx(call, tracing_mode="fake")(X), "make_fx sees"),
    "FlopCounterMode": (counted, "FlopCounterMode sees individual operators"),
    "FakeTensorMode": (faked, "FakeTensorMode sees individual operators"),
    "FakeTensorMode, plain": (
        plain_under(FakeTensorMode),
        "FakeTensorMode sees individual operators",
    ),
    "FakeTensorMode, which takes plain": (
        plain_under(lambda: FakeTensorMode(allow_non_fake_inputs=True)),
        "FakeTensorMode sees individual operators",
    ),
    "DebugMode": (plain_under(DebugMode), "DebugMode sees individual operators"),
    "a mode of one's own": (noted, "Noting sees individual operators"),
    "jit.trace": (lambda call: torch.jit.trace(call, (X,)), r"torch\.jit\.trace records"),
    "jit.script": (torch.jit.script, r"torch\.jit\.script needs Python source"),
    "symbolic_trace": (
        lambda call: torch.fx.symbolic_trace(lambda a: call(a)),
        r"torch\.fx\.symbolic_trace records",
    ),
    "vmap": (
        lambda call: torch.vmap(call)(X[None]),
        r"torch\.vmap transforms|torch\.func transform",
    ),
    "grad": (
        lambda call: torch.func.grad(lambda a: call(a).sum())(X),
        r"torch\.func\.grad transforms|torch\.func transform",
    ),
    "jvp": (lambda call: torch.func.jvp(call, (X,), (X,)), "would lose its tangents"),
    "jacfwd": (lambda call: torch.func.jacfwd(call)(X), "would lose its tangents"),
    "functionalize": (
        lambda call: torch.func.functionalize(call)(X),
        r"functionalize transforms|torch\.func transform",
    ),
    "forward AD": (dual, "forward-mode AD would lose its tangents"),
}


@pytest.fixture(scope="module", params=["live", "package", pytest.param("loaded", marks=SLOW)])
def called(
    request: pytest.FixtureRequest, packaged: Package, tmp_path_factory: pytest.TempPathFactory
) -> Any:
    if request.param == "package":
        return packaged
    return made(request.param, scaled, (X,), tmp_path_factory.mktemp("around"))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("around", AROUND)
def test_what_cannot_see_into_compiled_code_is_told(called: Any, around: str) -> None:
    run, words = AROUND[around]
    with pytest.raises(wb.WorkbenchError, match=words):
        run(called)
    torch.testing.assert_close(called(X), scaled(X))


class Passing(TorchFunctionMode):
    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return func(*args, **(kwargs or {}))


@pytest.mark.parametrize(
    ("mode", "words"),
    [
        (Passing, "under different torch function modes (Passing)"),
        (lambda: torch.device("meta"), "torch function modes (a default device "),
    ],
)
def test_another_torch_function_mode_is_named(mode: Callable[[], Any], words: str) -> None:
    compiled = wb.aot_compile(scaled, (X,), backend="eager")
    with mode():
        within = wb.aot_compile(scaled, (X,), backend="eager")
        torch.testing.assert_close(within(X), compiled.original(X))  # type: ignore[misc]
        with pytest.raises(wb.ContractError) as caught:
            compiled(X)
    assert words in str(caught.value)
    with pytest.raises(wb.ContractError, match=r"under different torch function modes \(none\)"):
        within(X)


ASKED: dict[str, tuple[Callable[[Any], Any], str]] = {
    "functional_call": (lambda h: torch.func.functional_call(h, {}, (X,)), "named_parameters"),
    "stack_module_state": (lambda h: torch.func.stack_module_state([h]), "training"),
    "onnx": (lambda h: torch.onnx.export(h, (X,), io.BytesIO(), dynamo=False), "modules"),
    "draft_export": (lambda h: torch.export.draft_export(h, (X,)), "named_modules"),
    "by hand": (lambda h: h.state_dict(), "state_dict"),
    "another device": (lambda h: h.to("cpu"), "to"),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("tool", ASKED)
def test_what_only_modules_have_is_told(called: Any, tool: str) -> None:
    run, attribute = ASKED[tool]
    models = [called, called["model"]] if isinstance(called, Package) else [called]
    for one in models:
        with pytest.raises(wb.WorkbenchError, match=f"and has no {attribute}. To export"):
            run(one)
        assert not hasattr(one, attribute)
        with pytest.raises(AttributeError, match="no attribute 'nowhere'"):
            _ = one.nowhere
        torch.testing.assert_close(one(X), scaled(X))  # ONNX leaves autocast's cache off


@pytest.mark.filterwarnings("ignore")
def test_tools_that_copy_a_model_are_told(called: Any) -> None:
    for one in [called["model"], called] if isinstance(called, Package) else [called]:
        for tool in (
            lambda h: torch.ao.quantization.quantize_dynamic(h, {nn.Linear}),
            torch.ao.quantization.prepare,
            lambda h: torch.save(h, io.BytesIO()),
        ):
            with pytest.raises(
                wb.WorkbenchError, match=r"not a torch\.nn\.Module|cannot be pickled"
            ):
                tool(one)


@pytest.fixture
def cache_of_autocast() -> Iterator[None]:
    """The older exporter to ONNX leaves it off where what it traces raises (torch 2.13)."""
    yield
    torch.set_autocast_cache_enabled(True)


@pytest.mark.usefixtures("cache_of_autocast")
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("tool", "words"),
    [
        (torch.fx.symbolic_trace, "torch.fx.symbolic_trace records individual operators"),
        (lambda h: torch.jit.trace_module(h, {"forward": (X,)}), "torch.jit.trace records"),
        (lambda h: torch.jit.trace(h, (X,)), "torch.jit.trace records"),
        (lambda h: torch.onnx.export(h, (X,), io.BytesIO(), dynamo=False), "torch.jit.trace rec"),
        (lambda h: torch.ao.quantization.quantize_dynamic(h, {nn.Linear}), "pickle and copy"),
    ],
)
def test_a_compiled_module_is_refused_by_the_same_tools(
    tool: Callable[[Any], Any], words: str
) -> None:
    model = nn.Linear(6, 3).eval()
    compiled = wb.aot_compile(model, (X,), backend="eager", grad=False)
    with pytest.raises(wb.WorkbenchError, match=words):
        tool(compiled)
    torch.testing.assert_close(compiled(X), model(X))
    exported = torch.export.export(compiled, (X,))  # which follows the original
    torch.testing.assert_close(exported.module()(X), model(X))


def test_another_compilation_stops_at_a_package_with_the_reason(packaged: Package) -> None:
    for inner in (packaged, packaged["model"]):
        with pytest.raises(
            torch._dynamo.exc.Unsupported, match="a package holds only compiled code"
        ):
            torch.compile(lambda a, inner=inner: inner(a) + 1, backend="eager", fullgraph=True)(X)
        broken = torch.compile(lambda a, inner=inner: inner(a.sin()) + 1, backend="eager")
        torch.testing.assert_close(broken(X), scaled(X.sin()) + 1)


def test_a_level_of_forward_ad_without_tangents_is_no_matter(called: Any) -> None:
    with forward_ad.dual_level():
        torch.testing.assert_close(called(X), scaled(X))


@pytest.mark.parametrize("which", ["live", "loaded", pytest.param("package", marks=SLOW)])
def test_what_fails_while_it_runs_is_an_error_of_ours_with_torchs_as_its_cause(
    which: str, tmp_path: Path
) -> None:
    table, places = torch.randn(4, 3), torch.tensor([0, 1])
    call = made(which, looked_up, (table, places), tmp_path)
    with pytest.raises(wb.RunError, match="failed") as caught:
        call(table, places + 7)
    assert isinstance(caught.value, RuntimeError)
    assert which == "package" or isinstance(caught.value.__cause__, (IndexError, RuntimeError))
    torch.testing.assert_close(call(table, places), table[places])


def test_a_guard_that_raises_leaves_torch_function_as_it_was() -> None:
    module = torch.nn.Linear(3, 3)
    module.offset = torch.ones(3)  # type: ignore[assignment]

    class Shifted(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x + module.offset  # type: ignore[operator]

    compiled = wb.aot_compile(Shifted(), (torch.ones(3),), backend="eager", grad=False)
    module.offset = nested()  # type: ignore[assignment]
    with pytest.raises(wb.WorkbenchError):
        compiled(torch.ones(3))
    module.offset = torch.ones(3)  # type: ignore[assignment]
    assert torch.equal(compiled(torch.ones(3)), torch.full((3,), 2.0))


class Holding(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.plain = torch.ones(4, 6)
        self.by_name = {"k": torch.ones(4, 6)}

    def forward(self, a: torch.Tensor) -> torch.Tensor:
        return a + self.plain + self.by_name["k"] + OUTSIDE


OUTSIDE = torch.ones(4, 6)
BESIDE: dict[str, tuple[Callable[[], Any], str]] = {
    "nested": (nested, "got a nested tensor"),
    "jagged": (lambda: nested(layout=torch.jagged), "got a nested tensor"),
    "sparse": (lambda: torch.eye(4, 6).to_sparse(), "call .to_dense()"),
    "quantised": (
        lambda: torch.quantize_per_tensor(X, 0.1, 0, torch.quint8),
        "call .dequantize()",
    ),
    "mkldnn": (lambda: torch.ones(4, 6).to_mkldnn(), "call .to_dense()"),
    "subclass": (lambda: torch.ones(4, 6).as_subclass(Own), "got Own"),
    "meta": (lambda: torch.ones(4, 6, device="meta"), "its kind inside torch differs"),
    "number": (lambda: 3, "expected a tensor, got int"),
}


@pytest.mark.parametrize("kind", BESIDE)
def test_what_stands_beside_the_inputs_is_refused_by_its_place(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A nested tensor makes torch's guards raise, which was said to be an error of the code."""
    beside = torch.ones(4, 6)

    def enclosing(a: torch.Tensor) -> torch.Tensor:
        return a + beside

    module = Holding()
    held = wb.aot_compile(module, (X,), backend="eager", grad=False)
    inner = wb.aot_compile(enclosing, (X,), backend="eager")
    make, words = BESIDE[kind]

    def refused(handle: Any) -> str:
        with pytest.raises(wb.ContractError) as caught:
            handle(X)
        return str(caught.value)

    with monkeypatch.context() as patch:
        patch.setattr(module, "plain", make())
        told = refused(held)
        assert "self.plain: " in told
        assert words in told
    with monkeypatch.context() as patch:
        patch.setitem(module.by_name, "k", make())
        assert "self.by_name['k']: " in refused(held)
    with monkeypatch.context() as patch:
        patch.setitem(globals(), "OUTSIDE", make())
        assert "OUTSIDE" in refused(held)
    torch.testing.assert_close(held(X), X + 3)
    beside = make()
    assert "beside: " in refused(inner)
