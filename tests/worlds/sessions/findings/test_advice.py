from __future__ import annotations

from dataclasses import replace

from tests.worlds.sessions.rows.sample import session
from workbench.report.program.record_rows import Compile, Fallback, ProgramRecompile
from workbench.report.table import Table
from workbench.worlds.sessions.findings.advice import advice, why_slow
from workbench.worlds.sessions.rows.session_record import Session


def test_what_runs_eagerly_comes_first_then_what_costs_most() -> None:
    found = advice(session())
    assert [one.kind for one in found] == ["fallback", "recompile", "break"]
    assert [one.cost_s for one in found] == [0.0, 1.5, 0.5]


def test_each_sentence_names_the_place_the_cost_and_the_cure() -> None:
    limit, size, cut = (one.sentence for one in advice(session()))
    assert limit.startswith("scaled runs eagerly since step 4 when no variant matches, 7 calls")
    assert "recompile_limit" in limit
    assert size.startswith("Net.forward recompiled 1 time (1.50 s in step 2), because")
    assert "x.size()[0] was 6, not 4 (train.py:12)" in size
    assert "`torch._dynamo.maybe_mark_dynamic(x, 0)`" in size
    assert "`print(y)`, 500 ms of compiling" in cut
    assert "(train.py:14). " in cut
    assert ". Write the message under `if not torch.compiler.is_compiling():`" in cut
    assert limit.endswith(". This was not tried.")
    assert size.endswith(". This was not tried.")
    assert cut.endswith(". This was not tried: `wb.rehearse(fn, args)` tries known fixes.")


def test_a_slow_step_says_why_and_a_usual_one_says_nothing() -> None:
    assert why_slow(session(), 0) == (
        "Step 0 took 2.51 s, 2.50 s of it compiling: Net.forward 2.00 s (compiled); "
        "Net.forward 500 ms (compiled)."
    )
    assert "size mismatch at index 0" in why_slow(session(), 2)
    assert why_slow(session(), 3) == ""
    assert why_slow(session(), 99) == ""


def test_a_frame_that_was_given_up_is_not_said_to_be_compiled() -> None:
    made = session()
    first, *others = made.tables["compiles"]
    rows = [replace(first, outcome="skipped"), *others]
    skipped = Session(made.header, {**made.tables, "compiles": Table.of(Compile, rows)}, {})
    assert "Net.forward 2.00 s (skipped by Dynamo); Net.forward 500 ms (compiled)" in why_slow(
        skipped, 0
    )


def test_another_number_of_arguments_is_no_size_to_be_marked() -> None:
    """As where decoding is called with a cache and the prefill before it without one."""
    made = session()
    (row,) = (one for one in made.tables["recompiles"] if one.nearest)
    of_length = {"kind": "length", "source": "len(kwargs)", "expected": "6", "actual": ""}
    rows = Table.of(ProgramRecompile, [replace(row, **of_length)])
    found = advice(Session(made.header, {**made.tables, "recompiles": rows}, {}))
    (sentence,) = (one.sentence for one in found if one.kind == "recompile")
    assert "because len(kwargs) was not 6" in sentence
    assert "mark_dynamic" not in sentence


def test_no_code_is_written_with_what_has_no_name() -> None:
    """As seen: `the same object = the same object.clone()`, `torch.tensor(___stack1)`."""
    made = session()
    (row,) = (one for one in made.tables["recompiles"] if one.nearest)
    other = {"kind": "identity", "source": "___stack0", "guard": "___stack0 is the same object"}
    number = {"kind": "value", "source": "___stack1", "expected": "3", "actual": "4"}
    for own, also in ((other, ("___stack1 == 3",)), (number, ("___stack0 is ___stack2",))):
        rows = Table.of(ProgramRecompile, [replace(row, **own, also=(other["guard"], *also))])
        found = advice(Session(made.header, {**made.tables, "recompiles": rows}, {}))
        (one,) = (one for one in found if one.kind == "recompile")
        assert "___stack" not in one.cure
        assert "clone()" not in one.cure
        assert not any("___stack" in line for line in one.code)


def test_a_frame_that_is_given_up_is_not_said_to_be_cut() -> None:
    made = session()
    always = Fallback("Net.forward", "loop/train.py", 12, "0/0", 0, "always", "a break in a loop")
    tables = {**made.tables, "fallbacks": Table.of(Fallback, [always])}
    sentences = [one.sentence for one in advice(Session(made.header, tables, {}))]
    assert any(
        text.startswith("Net.forward is not compiled because of a graph break at `print(y)`")
        for text in sentences
    )
    assert not any("has a graph break" in text for text in sentences)


def test_breaks_of_torchs_own_are_no_advice_and_the_grad_mode_is_named() -> None:
    made = session()
    (cut,) = made.tables["breaks"]
    own = replace(
        cut,
        file="site-packages/torch/optim/optimizer.py",
        kind="Call to `torch._dynamo.graph_break()`",
    )
    again = replace(
        made.tables["recompiles"][0],
        kind="grad mode",
        guard="GLOBAL_STATE changed: grad_mode",
        expected="",
        actual="",
    )
    tables = {
        **made.tables,
        "breaks": Table.of(type(own), [own]),
        "recompiles": Table.of(type(again), [again]),
    }
    found = advice(Session(made.header, tables, {}))
    assert [one.kind for one in found] == ["fallback", "recompile"]
    assert "because the grad mode changed" in found[1].sentence


def test_a_recompile_whose_compile_is_not_there_has_no_place() -> None:
    made = session()
    tables = {**made.tables, "compiles": Table.of(Compile)}
    (found,) = (one for one in advice(Session(made.header, tables, {})) if one.kind == "recompile")
    assert "was 6, not 4. Mark every changing size" in found.sentence


def test_what_is_compiled_again_and_again_is_not_expected_and_stands_by_its_cost() -> None:
    """As seen: four compiles for a string, 2 min 19 s, "expected" and behind cheaper rows."""
    made = session()
    (row,) = (one for one in made.tables["recompiles"] if one.nearest)
    (compile,) = (one for one in made.tables["compiles"] if one.id == row.compile_id)
    value = {"kind": "value", "source": "mode", "guard": "mode == 'a'", "expected": "'a'"}
    for count, is_expected in ((1, True), (4, False)):
        ids = [f"{row.compile_id}_{at}" for at in range(count)]
        rows = [replace(row, compile_id=id, cost_s=9.0, actual="'b'", **value) for id in ids]
        compiles = [*made.tables["compiles"], *(replace(compile, id=id) for id in ids)]
        tables = {
            **made.tables,
            "compiles": Table.of(Compile, compiles),
            "recompiles": Table.of(ProgramRecompile, rows),
        }
        found = advice(Session(made.header, tables, {}))
        assert [one.kind for one in found] == ["fallback", "recompile", "break"]
        assert found[1].is_expected is is_expected
        assert found[1].cure.startswith("expected: ") is is_expected
        assert "each value gets its own variant" in found[1].cure
