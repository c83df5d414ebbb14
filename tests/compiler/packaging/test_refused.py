"""What articles list as unsupported by AOTInductor: line, reason and cure, or it works."""

from __future__ import annotations

import inspect
import re
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch.export import Dim

import workbench as wb
from tests.compiler.packaging import samples
from tests.lazy_annotations import lazily_annotated
from workbench.compiler.packaging.exporting import Exported, check_exportable, export
from workbench.compiler.packaging.package_request import ModelRequest

OTHERS = {"object": "self.held.value", "class": "Recurrent.shared"}
FILE = inspect.getsourcefile(samples) or ""


def exported(model: Any, *args: Any, **options: Any) -> Exported:
    return export(check_exportable(ModelRequest(model, args, **options)))


def place(text: str) -> str:
    """`file:line` of the sample's line that holds a text."""
    lines = Path(FILE).read_text().splitlines()
    (number,) = [n for n, line in enumerate(lines, 1) if text in line]
    return f"{FILE}:{number}"


def refused(model: Any, *args: Any, **options: Any) -> str:
    with pytest.raises(wb.CaptureError) as caught:
        exported(model, *args, **options)
    return str(caught.value)


def test_annotations_need_not_name_what_is_there() -> None:
    class Plain(torch.nn.Module):
        forward = lazily_annotated("def f(self, x: Missing) -> Missing: return x + 2")

    x = torch.randn(3)
    torch.testing.assert_close(exported(Plain().eval(), x).program.module()(x), x + 2)


def test_control_flow_that_depends_on_data(capfd: pytest.CaptureFixture[str]) -> None:
    words = refused(samples.Branching().eval(), torch.randn(4))
    assert f'at {place("decides by data")} in forward: "if x.sum() > 0:' in words
    assert "Reason: the line branches on tensor values" in words
    assert "Cure: choose with torch.where(condition, a, b) or torch.cond" in words
    assert not capfd.readouterr().err  # torch prints half-built graphs and log lines


def test_an_operator_chosen_by_data() -> None:
    words = refused(samples.Dispatching().eval(), torch.randn(4), torch.tensor(1))
    assert place("picks by data") in words
    assert (
        "needs a Python value (a list index, a choice of operator, or a size) computed from tensor "
        "values"
    ) in words
    assert "torch.stack(candidates)[index]" in words


def test_autograd_functions_and_arbitrary_masks_work_on_this_torch() -> None:
    q = torch.randn(2, 3, 8, 4)
    mask = torch.rand(2, 1, 8, 8) > 0.4
    program = exported(samples.Attention().eval(), q, mask).program
    torch.testing.assert_close(program.module()(q, mask), samples.Attention()(q, mask))


def test_python_state_that_the_program_reads() -> None:
    words = refused(samples.Counting().eval(), torch.randn(4))
    assert f'at {place("read below")}: "self.count += 1"' in words
    assert "it would always use the value from capture" in words
    assert "register_buffer" in words


@pytest.mark.parametrize(
    ("kept", "line"),
    [
        ("attribute", "kept in an attribute"),
        ("in place", "written in place"),
        ("item", "kept in an item"),
        ("object", None),
        ("class", None),
    ],
)
def test_state_that_is_no_buffer(kept: str, line: str | None) -> None:
    model = samples.Recurrent(kept).eval()
    words = refused(model, torch.ones(4))
    assert f"at {place(line) if line else OTHERS[kept]}" in words
    assert "register_buffer" in words
    torch.testing.assert_close(model(torch.ones(4)), torch.full((4,), 2.0))


def test_state_in_a_variable_outside_of_the_function() -> None:
    assert "at TOTAL" in refused(samples.add_to_total, torch.ones(4))
    assert type(samples.TOTAL) is torch.Tensor
    assert not samples.TOTAL.any()


def test_what_a_model_only_remembers_is_no_state() -> None:
    model = samples.Remembering().eval()
    with pytest.warns(UserWarning, match="is not updated"):
        (note,) = exported(model, torch.ones(4)).notes
    assert note.startswith("self.table is not updated by the package: ")
    assert place("made once") in note
    assert model.table is None


def test_python_effects_that_change_nothing_are_said_to_be_lost() -> None:
    with pytest.warns(UserWarning, match="Logging: ") as heard:
        found = exported(samples.Logging().eval(), torch.randn(4))
    assert [str(item.message) for item in heard] == [f"Logging: {note}" for note in found.notes]
    log, print_, history = found.notes
    assert log.startswith("self.log is not updated by the package: ")
    assert place("kept nowhere") in log
    assert print_.startswith("print ran while capturing and does not run in the package: ")
    assert history.startswith("a variable outside the model is not updated by the package: ")


def test_train_mode_names_the_lines_that_it_changes() -> None:
    model = samples.Training()
    words = refused(model, torch.randn(3, 4))
    line = place("other in eval mode").rpartition(":")[2]
    assert re.findall(r":(\d+) \((\w+) of (\w+)\)", words) == [
        (line, "batch_norm", "norm"),
        (line, "dropout", "drop"),
    ]
    assert "call model.eval() before packaging" in words
    assert model.training
    assert exported(model.eval(), torch.randn(3, 4)).notes == ()


def test_train_mode_is_refused_where_python_asks_for_it() -> None:
    words = refused(samples.AskingMode(), torch.randn(3))
    assert "and the program in eval mode is different" in words


def test_train_mode_that_changes_nothing_is_only_said() -> None:
    with pytest.warns(UserWarning, match="its program is the same in eval mode"):
        exported(samples.Mlp(), torch.randn(3, 16))


def test_a_range_that_does_not_hold_comes_with_the_line_and_a_fix() -> None:
    batch = Dim("batch", min=2, max=64)
    words = refused(samples.Reshaping(), torch.randn(8, 8), dynamic_shapes={"x": {0: batch}})
    assert "batch (x.shape[0]) is declared batch <= 64, but the code needs ((8*x.shape[0])" in words
    assert place("four rows at a time") in words
    assert "Cure: declare _batch = Dim('_batch', min=1, max=16); batch = 4*_batch." in words
    assert "TORCH_LOGS" not in words
    assert len(words.splitlines()) <= 6


def test_dims_that_must_be_equal() -> None:
    spec = {"x": {0: Dim("a", min=2)}, "y": {0: Dim("b", min=2)}}
    words = refused(samples.Adding(), torch.randn(3), torch.randn(3), dynamic_shapes=spec)
    assert "must always be equal" in words
    assert "Cure: declare b = a." in words


@pytest.mark.parametrize(
    ("args", "spec", "words"),
    [
        ((torch.randn(3),), {"z": {0: Dim("a")}}, "top-level keys must be the arg names"),
        ((torch.randn(3),), {"x": {1: Dim("a")}}, "dimension 1 of x, which has 1"),
        ((torch.randn(3),), {"x": {0: Dim("a", min=4)}}, "3 not in range"),
        ((torch.randn(3), 1, 2), None, r"The example inputs do not fit AskingMode\(x"),
    ],
)
def test_a_request_that_cannot_be_is_a_usage_error(args: Any, spec: Any, words: str) -> None:
    with pytest.raises(wb.UsageError, match=words):
        exported(samples.AskingMode().eval(), *args, dynamic_shapes=spec)


def test_an_error_of_the_model_itself_names_its_line() -> None:
    def reads(x: torch.Tensor) -> torch.Tensor:
        return torch.from_numpy(x.numpy())

    words = refused(reads, torch.randn(3))
    assert 'in reads: "return torch.from_numpy(x.numpy())"' in words
    assert "use torch operators instead of NumPy" in words


def test_values_from_outside_are_said_to_be_frozen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WORKBENCH_TEST_SCALE", "3")
    with pytest.warns(UserWarning, match="is frozen at capture"):
        notes = exported(samples.scaled_from_outside, torch.ones(4)).notes
    assert notes == (
        f"the environment variable WORKBENCH_TEST_SCALE is frozen at capture: {place('process')}",
        f"the environment variable WORKBENCH_TEST_NONE is frozen at capture: {place('not set')}",
        f"time.time() is frozen at capture: {place('clock, dice')}",
        f"random.random() is frozen at capture: {place('clock, dice')}",
    )


WRITES: dict[str, tuple[Any, tuple[int, ...]]] = {
    "a row": (lambda t, a: t[0].copy_(a), (3,)),
    "an assigned row": (lambda t, a: t.__setitem__(0, a), (3,)),
    "several at once": (lambda t, a: torch._foreach_add_([t], [a]), (3, 3)),
    "out=": (lambda t, a: torch.add(a, a, out=t), (3, 3)),
    "a view of a view": (lambda t, a: t.chunk(3)[1].t()[0].fill_(2.0), (3,)),
    "statistics": (lambda t, a: F.batch_norm(a, t[0], t[1], training=True), (5, 3)),
    "other statistics": (lambda t, a: F.instance_norm(a, t[0], t[1]), (2, 3, 4)),
    "by a tensor": (lambda t, a: t.index_put_((torch.tensor([1]),), a), (3,)),
}


@pytest.mark.parametrize("write", WRITES)
def test_every_write_into_a_plain_attribute_has_the_same_cure(write: str) -> None:
    change, shape = WRITES[write]

    class Writes(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.kept = torch.ones(3, 3)

        def forward(self, a: torch.Tensor) -> torch.Tensor:
            change(self.kept, a)
            return self.kept.sum()

    words = refused(Writes().eval(), torch.randn(shape))
    assert f"at {__file__}:" in words
    assert "writes into it" in words
    assert "Cure: keep the value in a tensor: self.register_buffer(" in words


def test_writes_of_an_exported_program_are_refused_too() -> None:
    class Writes(torch.nn.Module):
        kept = torch.ones(3, 3)

        def forward(self, a: torch.Tensor) -> torch.Tensor:
            self.kept[0] = a
            return self.kept.sum()

    program = torch.export.export(Writes().eval(), (torch.randn(3),))
    assert "Cure: keep the value in a tensor" in refused(program, torch.randn(3))


def test_a_literal_with_the_values_of_an_attribute_may_be_written_into() -> None:
    class Writes(torch.nn.Module):
        kept = torch.tensor([1.0, 2.0])

        def forward(self, a: torch.Tensor) -> torch.Tensor:
            own = torch.tensor([1.0, 2.0])
            own.add_(a)
            return own + self.kept

    assert exported(Writes().eval(), torch.randn(2)).program


class Irreps(tuple[int, ...]):
    """A tuple that does not say how long it is, as one of e3nn."""

    def __len__(self) -> int:
        raise NotImplementedError


class Steps(dict[str, int]):
    def items(self) -> Any:
        raise RuntimeError("not to be listed")


@pytest.mark.parametrize("held", [Irreps((1, 2)), Steps(a=1)])
def test_containers_that_do_not_say_what_they_hold(held: Any) -> None:
    class Holds(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.held = held

        def forward(self, a: torch.Tensor) -> torch.Tensor:
            return a * 2

    assert exported(Holds().eval(), torch.randn(2)).program


def test_a_write_into_a_copy_of_a_plain_attribute_has_its_line_and_a_cure(tmp_path: Path) -> None:
    class Writes(torch.nn.Module):
        kept = torch.ones(3)

        def forward(self, a: torch.Tensor) -> torch.Tensor:
            own = self.kept.clone()
            own[1] = a[0]
            return own + a

    with pytest.raises(wb.CaptureError) as caught:
        wb.package(Writes().eval(), (torch.randn(3),), path=tmp_path / "p.pt2")
    words = str(caught.value)
    assert f"at {__file__}:" in words
    assert "make it a buffer" in words
    assert "INTERNAL ASSERT" not in words
