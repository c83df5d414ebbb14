"""Which setting is taken, what that rests on, and how it is said."""

from __future__ import annotations

from typing import Any

import pytest

from tests.analysis.sweep.trials import trial
from workbench.analysis.sweep.recommendation import (
    Candidate,
    Recommendation,
    choose,
    choose_recommended,
    code_of,
)
from workbench.errors import UsageError
from workbench.report.trials import Trial


def grid() -> list[Trial]:
    """max-autotune halves the time, threads change little; float16 takes less memory."""
    times = {("default", 1): 80.0, ("default", 2): 78.0, ("max", 1): 40.0, ("max", 2): 38.0}
    return [
        trial(us, settings={"mode": mode, "threads": str(threads)}, peak_bytes=int(us))
        for (mode, threads), us in times.items()
    ]


def test_the_fastest_is_taken_and_compared_with_the_next() -> None:
    found = choose(grid())
    assert found.winner.title == "mode=max, threads=2"
    assert found.runner_up is not None
    assert found.runner_up.title == "mode=max, threads=1"
    assert found.comparison is not None
    assert 1.03 < found.comparison.ratio.median < 1.08
    assert found.comparison.differ


def test_the_axis_that_mattered_comes_first() -> None:
    first, second = choose(grid()).effects
    assert (first.axis, first.best, first.worst) == ("mode", "max", "default")
    assert first.ratio == pytest.approx(2.0, rel=0.05)
    assert second.axis == "threads"
    assert second.ratio == pytest.approx(1.04, rel=0.02)
    assert first.comparison is not None
    assert first.comparison.differ


def test_an_axis_within_the_noise_does_not_matter() -> None:
    rows = [trial(us, settings={"mode": mode}) for mode, us in (("a", 40.0), ("b", 40.3))]
    (effect,) = choose(rows).effects
    assert effect.comparison is not None
    assert not effect.comparison.differ


def test_of_equals_the_one_that_compiles_faster_is_taken() -> None:
    rows = [
        trial(40.0, settings={"mode": "max"}, compile_s=60.0),
        trial(40.2, settings={"mode": "default"}, compile_s=5.0),
    ]
    found = choose(rows)
    assert found.winner.title == "mode=default"
    assert found.comparison is not None
    assert found.comparison.words == "no difference"


def test_a_busy_moment_does_not_decide() -> None:
    """Both run twice as slow in one worker: its baseline does too."""
    rows = [
        trial(40.0, settings={"mode": "a"}),
        trial(72.0, settings={"mode": "b"}, baseline_us=200.0),
    ]
    assert choose(rows).winner.title == "mode=b"


def test_sizes_are_put_together() -> None:
    rows = [
        trial(us, settings={"mode": mode, "batch": str(batch)})
        for mode, batch, us in [("a", 1, 10.0), ("a", 8, 80.0), ("b", 1, 20.0), ("b", 8, 30.0)]
    ]
    found = choose(rows, ["batch"])
    assert found.winner.title == "mode=b"
    assert len(found.winner.rows) == 2
    assert choose(rows, ["batch"], constraint={"batch": 1}).winner.title == "mode=a"


def test_a_setting_that_fails_for_a_size_is_not_taken() -> None:
    rows = [
        trial(10.0, settings={"mode": "a", "batch": "1"}),
        trial(20.0, settings={"mode": "b", "batch": "1"}),
        trial(20.0, settings={"mode": "b", "batch": "8"}),
        Trial("x", (("mode", "a"), ("batch", "8")), status="failed"),
    ]
    assert choose(rows, ["batch"]).winner.title == "mode=b"


@pytest.mark.parametrize(
    ("objective", "winner"), [("memory", "mode=max, threads=2"), ("first_call", "mode=default")]
)
def test_other_objectives(objective: str, winner: str) -> None:
    rows = grid()
    if objective == "first_call":
        rows = [trial(9.0, settings={"mode": "max"}), trial(99.0, settings={"mode": "default"})]
        rows[1] = Trial.from_json({**rows[1].to_json(), "first_call_s": 0.01})
    found = choose(rows, objective=objective)
    assert found.winner.title == winner
    assert found.comparison is None


def test_constraints_limit_figures_and_axes() -> None:
    assert choose(grid(), constraint={"mode": "default"}).winner.title == "mode=default, threads=2"
    found = choose(grid(), constraint={"peak_bytes": ">= 39", "threads": 1})
    assert found.winner.title == "mode=max, threads=1"
    assert choose(grid(), constraint=lambda row: row.peak_bytes > 79).winner.rows[0].call_us > 79


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"objective": "speed"}, "expected one of latency, throughput, first_call, memory"),
        ({"constraint": {"mode": "none"}}, "No trial fits the constraint"),
        ({"constraint": {"peak_bites": "<= 3"}}, "neither an axis with its value nor a figure"),
        ({"constraint": {"peak_bytes": "3"}}, "neither an axis"),
    ],
)
def test_what_cannot_be_chosen_is_said(arguments: dict[str, Any], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        choose(grid(), **arguments)


def test_without_any_row_the_reasons_are_pointed_at() -> None:
    with pytest.raises(UsageError, match="column reason"):
        choose([Trial("x", (), status="crashed")])


def best(*rows: Trial, sizes: tuple[str, ...] = (), **how: Any) -> Recommendation:
    """What a sweep of these rows recommends."""
    return choose_recommended(rows, sizes, "model", **how)


def fast(**more: Any) -> Trial:
    return trial(
        40.0, settings={"mode": "max-autotune"}, speedup_low=2.45, speedup_high=2.55, **more
    )


def slow(**more: Any) -> Trial:
    return trial(80.0, settings={"mode": "default"}, speedup_low=1.2, speedup_high=1.3, **more)


def test_the_sentence_says_what_to_take_what_comes_next_and_what_mattered() -> None:
    found = best(fast(), slow())
    assert found.settings == {"mode": "max-autotune"}
    first, second, third = found.sentence.split(". ")
    assert first == (
        "Take mode=max-autotune: 2.50 × (2.45 to 2.55) as fast as the original, with 95 % "
        "confidence"
    )
    assert second == "mode=default, the next, is 100.3 % slower (99.5 to 101.1 %)"
    assert third.startswith(
        "mode mattered: default instead of max-autotune makes the time of a call 2.0"
    )
    assert repr(found) == f"{found.sentence}\n\nwb.aot_compile(model, args, mode='max-autotune')"


@pytest.mark.parametrize(
    ("objective", "words"),
    [
        ("memory", "Take mode=max-autotune: a call takes at most 900 B."),
        ("first_call", "Take mode=max-autotune: the first call takes 50.0 ms."),
    ],
)
def test_each_objective_has_its_figure(objective: str, words: str) -> None:
    found = best(fast(peak_bytes=900, first_call_s=0.05), slow(), objective=objective)
    assert found.sentence.startswith(words)
    assert "Next comes mode=default." in found.sentence


def test_a_model_is_said_to_be_one() -> None:
    row = Trial("k", (("XBLOCK", "64"),), call_us=12.5, is_model=True)
    found = best(row)
    assert found.sentence == "Take XBLOCK=64: a model gives it 12.5 µs a call; nothing was run."
    assert found.code.startswith("# then XBLOCK=64: time it on the device")


def test_sizes_are_named_one_by_one() -> None:
    rows = [
        trial(us, settings={"mode": "a", "batch": b}, speedup_low=2, speedup_high=3)
        for b, us in (("1", 40.0), ("8", 50.0))
    ]
    found = best(*rows, sizes=("batch",))
    assert found.settings == {"mode": "a"}
    assert "2.50 × (2.00 to 3.00) at batch=1, 2.00 × (2.00 to 3.00) at batch=8" in found.sentence


def test_noise_and_doubts_are_said() -> None:
    close = trial(40.2, settings={"mode": "reduce-overhead"}, compile_s=60.0)
    found = best(fast(warning="the machine was busy"), close)
    assert "mode=reduce-overhead cannot be told from it (" in found.sentence
    assert "this one compiles faster." in found.sentence
    assert "mode made no difference that can be told from the noise." in found.sentence
    assert found.sentence.endswith("But the machine was busy.")


def test_a_notebook_shows_texts_as_they_are() -> None:
    row = trial(40.0, settings={"template": "^<bmm>$"}, speedup_low=2.0, speedup_high=3.0)
    shown = best(row)._repr_html_()
    assert shown.startswith('<div class="mathjax_ignore"><p>Take template=^&lt;bmm&gt;$: ')


@pytest.mark.parametrize(
    ("settings", "code"),
    [
        ({}, "wb.aot_compile(f, args)"),
        ({"backend": "eager", "mode": "None"}, "wb.aot_compile(f, args, backend='eager')"),
        (
            {"target": "h100", "max_fusion_size": "8", "max_autotune_gemm_backends": "ATEN"},
            "wb.aot_compile(f, args, target='h100', options={'max_fusion_size': 8, "
            "'max_autotune_gemm_backends': 'ATEN'})",
        ),
        (
            {"template": "^bmm$"},
            "wb.aot_compile(f, args, options={'test_configs.autotune_choice_name_regex': '^bmm$'})",
        ),
        (
            {"threads": "2", "dtype": "bfloat16", "dynamic": "True"},
            "# the module and its inputs as torch.bfloat16\n"
            "torch.set_num_threads(2)\n"
            "# every size as torch.export.Dim.AUTO\n"
            "wb.aot_compile(f, args, dynamic_shapes=…)",
        ),
        (
            {"k0.XBLOCK": "64", "num_warps": "4"},
            "# then k0.XBLOCK=64, num_warps=4: time it on the device, Inductor tunes blocks "
            "itself there\nwb.aot_compile(f, args)",
        ),
    ],
)
def test_the_code_uses_the_setting(settings: dict[str, str], code: str) -> None:
    assert code_of(Candidate(tuple(settings.items()), ()), "f") == code


def test_a_warning_of_several_sizes_is_said_once() -> None:
    words = "other work disturbed {} of 20 rounds: measure again later"
    rows = [
        trial(40.0, settings={"n": n}, speedup_low=2.4, speedup_high=2.6, warning=warning)
        for n, warning in (("1", words.format(9)), ("2", words.format(11)), ("3", None))
    ]
    sentence = best(*rows, sizes=("n",)).sentence
    assert sentence.count("other work disturbed") == 1
    assert sentence.endswith(f"But {words.format(11)} (in 2 of 3 rows).")
