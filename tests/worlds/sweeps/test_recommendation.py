"""Which setting is taken, what that rests on, and how it is said."""

from __future__ import annotations

import random
import re
from dataclasses import replace
from statistics import median
from typing import Any

import pytest

from tests.worlds.sweeps.timed_trials import trial
from workbench.errors import UsageError
from workbench.report.trials import Trial
from workbench.worlds.sweeps.recommendation import (
    Recommendation,
    Setting,
    choose,
    choose_recommended,
    code_of,
)


def grid() -> list[Trial]:
    """max-autotune halves the time, threads change little; float16 takes less memory."""
    times = {("default", 1): 80.0, ("default", 2): 74.0, ("max", 1): 40.0, ("max", 2): 37.0}
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
    assert 1.06 < found.comparison.ratio.median < 1.10
    assert found.comparison.verdict == "slower"
    assert found.is_sure


def test_the_axis_that_mattered_comes_first() -> None:
    first, second = choose(grid()).effects
    assert (first.axis, first.best, first.worst) == ("mode", "max", "default")
    assert first.ratio == pytest.approx(2.0, rel=0.05)
    assert second.axis == "threads"
    assert second.ratio == pytest.approx(1.08, rel=0.02)
    assert (first.verdict, second.verdict) == ("slower", "slower")


def test_an_axis_within_the_noise_does_not_matter() -> None:
    rows = [trial(us, settings={"mode": mode}) for mode, us in (("a", 40.0), ("b", 40.3))]
    found = choose(rows)
    assert found.effects[0].verdict == "no difference"
    assert not found.is_sure


def test_of_equals_the_first_is_taken_however_long_one_compile_took() -> None:
    """One compile time is no evidence: "this one compiles faster" was said of a moment's noise."""
    rows = [
        trial(40.2, settings={"mode": "default"}, compile_s=60.0),
        trial(40.0, settings={"mode": "max"}, compile_s=5.0),
    ]
    found = choose(rows)
    assert found.winner.title == "mode=default"
    assert found.comparison is not None
    assert found.comparison.words == "no difference"
    sentence = best(*rows).sentence
    assert sentence.startswith("No winner between mode=default and mode=max. mode=default: 2.49 ×")
    assert "compile" not in sentence.lower()


def test_identical_code_is_one_setting_and_not_compared_with_itself() -> None:
    """As seen: with identical kernels `max-autotune` won by 199986.6 %."""
    rows = [
        trial(40.0, settings={"mode": "default"}, code="c0"),
        trial(0.58, settings={"mode": "max-autotune"}, code="c0"),
        trial(60.0, settings={"mode": "reduce-overhead"}, code="c1"),
    ]
    found = choose(rows)
    assert found.winner.title == "mode=default"
    assert [one.title for one in found.winner.same] == ["mode=max-autotune"]
    assert found.runner_up is not None
    assert found.runner_up.title == "mode=reduce-overhead"
    words = best(*rows[:2]).sentence
    assert "Identical generated code: mode=max-autotune." in words
    assert "mode made no difference: the generated code is identical." in words
    assert "slower" not in words
    assert "199" not in words


def test_the_same_code_with_other_threads_is_another_setting() -> None:
    rows = [trial(us, settings={"threads": n}, code="c0") for us, n in ((40.0, "1"), (20.0, "2"))]
    assert choose(rows).winner.same == ()


def test_where_the_machine_changed_between_the_workers_there_is_no_winner() -> None:
    """The original took twice as long in one worker: what differs by less says nothing."""
    rows = [
        trial(40.0, settings={"mode": "a"}),
        trial(72.0, settings={"mode": "b"}, baseline_us=200.0),
    ]
    found = choose(rows)
    assert found.comparison is not None
    assert found.comparison.verdict == "too noisy to say"
    assert not found.is_sure
    assert best(*rows).sentence.startswith("No winner between mode=b and mode=a.")


def test_a_size_has_a_baseline_of_its_own() -> None:
    """Other sizes take another time: that is no noise of the machine, and nothing to choose."""
    rows = [
        trial(us * scale, settings={"mode": mode, "n": n}, baseline_us=100.0 * scale)
        for mode, us in (("a", 40.0), ("b", 60.0))
        for n, scale in (("1", 1.0), ("8", 50.0))
    ]
    found = choose(rows, ["n"])
    assert found.is_sure
    assert [effect.axis for effect in found.effects] == ["mode"]


def test_a_disturbed_round_never_makes_a_winner() -> None:
    rows = [
        trial(40.0, settings={"mode": "a"}, disturbed=35, is_disturbed=True),
        trial(80.0, settings={"mode": "b"}),
    ]
    found = best(*rows)
    assert not found.choice.is_sure
    assert found.code == ""
    assert found.sentence.startswith("No configuration is significantly faster than eager")
    assert "other work disturbed 35 of 40 pairs" in found.sentence


def test_a_row_of_an_earlier_version_says_in_words_that_it_was_disturbed() -> None:
    warning = "other work disturbed 8 of 40 rounds: measure again later"
    assert not best(trial(40.0, settings={"mode": "a"}, warning=warning)).choice.is_sure


def test_what_is_slower_than_the_original_is_not_to_be_taken() -> None:
    """As seen: `Use …: 0.80 × as fast as the original`."""
    found = best(trial(125.0, settings={"mode": "a"}), trial(150.0, settings={"mode": "b"}))
    assert found.sentence.startswith("No configuration is significantly faster than eager")
    assert "mode=a has the shortest median: 0.80 × (0." in found.sentence
    assert ") as fast as eager" in found.sentence
    assert "Use mode" not in found.sentence
    assert found.code == ""


def test_what_is_faster_at_one_size_is_not_said_to_be_faster_at_none() -> None:
    rows = [
        trial(us, settings={"mode": "a", "batch": n}, baseline_us=100.0)
        for n, us in (("1", 150.0), ("64", 50.0))
    ]
    found = best(*rows, sizes=("batch",))
    words = "No configuration is significantly faster than eager at every size."
    assert found.sentence.startswith(words)
    assert "2.00 × (2.0" in found.sentence
    assert found.code == ""


def test_sizes_alone_are_not_recommended_between() -> None:
    rows = [
        trial(us, settings={"batch": n}, baseline_us=base)
        for n, us, base in (("1", 40.0, 100.0), ("64", 10.0, 90.0))
    ]
    found = best(*rows, sizes=("batch",))
    assert found.sentence == (
        "Compiled: 2.50 × (2.49 to 2.51) at batch=1, 8.99 × (8.97 to 9.03) at batch=64 as fast as "
        "eager."
    )
    assert found.settings == {}


def test_noise_alone_has_no_winner_among_many_settings() -> None:
    for seed in range(60):
        rows = [
            noisy_trial(random.Random(f"{seed} {n}"), {"mode": str(n), "batch": batch})
            for n in range(6)
            for batch in ("1", "8")
        ]
        found = best(*rows, sizes=("batch",))
        assert not found.choice.is_sure
        assert not found.sentence.startswith("Take")
        assert "mattered" not in found.sentence
        assert "% slower (" not in found.sentence


def noisy_trial(luck: random.Random, settings: dict[str, str]) -> Trial:
    """Original and setting take as long, on a machine that is busy now and then."""

    def rounds(count: int) -> tuple[float, ...]:
        return tuple(100 * (1 + luck.lognormvariate(-2, 1.2)) for _ in range(count))

    samples = rounds(30), rounds(30)
    medians = [median(side) for side in samples]
    return Trial(
        repr(settings),
        tuple(settings.items()),
        call_us=medians[0],
        baseline_us=medians[1],
        speedup=median(b / a for a, b in zip(*samples, strict=True)),
        samples_us=samples,
        compile_s=luck.random(),
    )


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
        ({"constraint": {"peak_bites": "<= 3"}}, "is invalid. Pass a value of an axis"),
        ({"constraint": {"peak_bytes": "3"}}, "is invalid. Pass a value"),
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
    return trial(40.0, settings={"mode": "max-autotune"}, **more)


def slow(**more: Any) -> Trial:
    return trial(80.0, settings={"mode": "default"}, **more)


def test_the_sentence_says_what_to_take_what_comes_next_and_what_mattered() -> None:
    found = best(fast(), slow())
    assert found.settings == {"mode": "max-autotune"}
    first, second, third = found.sentence.split(". ")
    assert first == "Use mode=max-autotune: 2.50 × (2.49 to 2.51) as fast as eager"
    assert second.startswith("The runner-up mode=default, compared with it: 0.50 × (")
    assert third.startswith(
        "mode mattered: in the clearest case, default instead of max-autotune is 0.50 × ("
    )
    assert repr(found) == f"{found.sentence}\n\nwb.aot_compile(model, args, mode='max-autotune')"


@pytest.mark.parametrize(
    ("objective", "words"),
    [
        ("memory", "Use mode=max-autotune: peak memory 900 B."),
        (
            "first_call",
            "mode=max-autotune has the shortest first call: 50.0 ms. Each configuration",
        ),
    ],
)
def test_each_objective_has_its_figure(objective: str, words: str) -> None:
    found = best(fast(peak_bytes=900, first_call_s=0.05), slow(), objective=objective)
    assert found.sentence.startswith(words)
    assert "The runner-up is mode=default." in found.sentence


def test_every_factor_of_a_sentence_goes_in_one_direction() -> None:
    """As seen: "1.52 × the time" of one and "1.20 × as fast" of the other in one sentence."""
    for rows in ((fast(), slow()), (trial(125.0, settings={"mode": "a"}), slow())):
        sentence = best(*rows).sentence
        assert len(re.findall(r"× \([^)]*\) as fast", sentence)) == sentence.count("×") > 0
        assert not re.search(r"slower \(|faster \(|times? the|the time of", sentence)


def test_a_model_is_said_to_be_one() -> None:
    row = Trial("k", (("XBLOCK", "64"),), call_us=12.5, is_model=True)
    found = best(row)
    assert found.sentence == "XBLOCK=64: 12.5 µs per call (modelled). Nothing was run."
    assert found.code.startswith("# then XBLOCK=64: time it on the device")
    later = best(row, Trial("l", (("XBLOCK", "128"),), call_us=25.0, is_model=True))
    assert later.sentence == (
        "XBLOCK=64 is fastest by the model: 12.5 µs per call; the runner-up XBLOCK=128 takes 25.0 "
        "µs (modelled). Nothing was run, so time the configurations. With 128 instead of 64 as "
        "XBLOCK, a call is 0.50 × as fast (modelled)."
    )


def forecast(name: str, us: float, low: float, high: float | None) -> Trial:
    """A call for a GPU that is not here."""
    settings = (("target", name),)
    return Trial(name, settings, call_us=us, low_us=low, high_us=high, is_model=True)


def test_modelled_times_whose_intervals_meet_have_no_winner() -> None:
    found = best(forecast("h100", 23.4, 22.7, 67.9), forecast("mi300x", 23.2, 22.2, 67.7))
    assert found.sentence == (
        "No winner: target=mi300x takes 23.2 µs (22.2 µs to 67.7 µs) per call; the "
        "runner-up target=h100 takes 23.4 µs (22.7 µs to 67.9 µs) (modelled). Nothing was run. "
        "target made no difference to the model."
    )
    assert not found.code
    unknown = best(forecast("h100", 20.0, 19.0, None), forecast("t4", 90.0, 80.0, 99.0))
    assert unknown.sentence.startswith("No winner: target=h100 takes 20.0 µs (error not")


def test_modelled_times_that_lie_apart_have_one() -> None:
    found = best(forecast("h100", 20.0, 15.0, 30.0), forecast("t4", 90.0, 80.0, 99.0))
    assert found.sentence.startswith(
        "Use target=h100: 20.0 µs (15.0 µs to 30.0 µs) per call; the runner-up target=t4 takes "
        "90.0 µs (80.0 µs to 99.0 µs) (modelled). Nothing was run."
    )
    assert "target='h100'" in found.code


def test_sizes_are_named_one_by_one() -> None:
    rows = [trial(us, settings={"mode": "a", "batch": b}) for b, us in (("1", 40.0), ("8", 50.0))]
    found = best(*rows, sizes=("batch",))
    assert found.settings == {"mode": "a"}
    assert found.sentence == (
        "Use mode=a: 2.50 × (2.49 to 2.51) at batch=1, 2.00 × (1.99 to 2.01) at batch=8 as fast "
        "as eager."
    )


def test_doubts_are_said_and_why_there_is_no_verdict_once() -> None:
    doubt = "no verdict: only 3 pairs, 11 are needed"
    lost = "y not checked: it is a view"
    found = best(fast(warning=f"{lost}; {doubt}"), slow(warning=lost))
    assert found.sentence.endswith("But y not checked: it is a view.")
    assert "no verdict" not in found.sentence


def test_a_notebook_shows_texts_as_they_are() -> None:
    row = trial(40.0, settings={"template": "^<bmm>$"})
    shown = best(row)._repr_html_()
    assert shown.startswith('<div class="mathjax_ignore"><p>Use template=^&lt;bmm&gt;$: ')


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
    assert code_of(Setting(tuple(settings.items()), ()), "f") == code


def test_what_cannot_be_saved_is_no_part_of_the_sentence() -> None:
    warning = "it cannot be saved: f holds a lock of the process, which no file can hold."
    assert "saved" not in best(trial(40.0, settings={"mode": "a"}, warning=warning)).sentence


def test_a_warning_of_several_sizes_is_said_once() -> None:
    words = "output {} not checked: it is a view"
    rows = [
        trial(40.0, settings={"n": n}, warning=warning)
        for n, warning in (("1", words.format(9)), ("2", words.format(11)), ("3", None))
    ]
    sentence = best(*rows, sizes=("n",)).sentence
    assert sentence.count("not checked") == 1
    assert sentence.endswith(f"But {words.format(11)} (in 2 of 3 rows).")


def noisy_grid() -> list[Trial]:
    """Long options that change nothing, one of them the same in all; each was disturbed."""
    return [
        trial(
            100 + shift,
            settings={"triton.unique_kernel_names": name, "max_fusion_size": size, "threads": "2"},
            code="same",
            warning="no verdict: other work took a part of 40 of 40 pairs",
        )
        for shift, name, size in ((0, "True", "8"), (1, "True", "64"), (2, "False", "8"))
    ] + [
        trial(
            103,
            settings={
                "triton.unique_kernel_names": "False",
                "max_fusion_size": "64",
                "threads": "2",
            },
            code="same",
        )
    ]


def test_settings_are_named_by_what_differs_and_many_with_one_code_are_counted() -> None:
    sentence = best(*noisy_grid()).sentence
    assert "threads" not in sentence
    assert "Identical generated code: 3 other configurations." in sentence
    both = "triton.unique_kernel_names and max_fusion_size made no difference: the generated code"
    assert both in sentence
    assert sentence.count("triton.unique_kernel_names") == 2  # of the setting, and of the axis


def test_what_holds_for_every_size_is_said_once() -> None:
    luck = random.Random(0)
    rows = []
    for mode in ("a", "b"):
        for size in ("8", "64"):
            ours = tuple(100 * luck.uniform(0.3, 3) for _ in range(12))
            theirs = tuple(100 * luck.uniform(0.3, 3) for _ in range(12))
            row = trial(100, settings={"mode": mode, "rows": size})
            rows.append(replace(row, samples_us=(ours, theirs)))
    sentence = choose_recommended(rows, ("rows",), "f").sentence
    against = sentence.partition("has the shortest median")[2].partition(". ")[0]
    assert against.count("too noisy to compare with eager") == 1
    assert ": at rows=8 (" in against  # seen: "eager: (0.15 × to 471 ×) at batch=1"
    assert "), at rows=64 (" in against


def test_a_setting_that_was_not_compared_whole_is_taken_only_where_all_are_such() -> None:
    lost = "output not checked: it depends on random numbers"
    doubted = trial(40.0, settings={"mode": "a"}, warning=lost)
    found = best(doubted, trial(60.0, settings={"mode": "b"}))
    assert dict(found.choice.winner.settings) == {"mode": "b"}
    assert "mode=a was not fully compared with eager" in found.sentence
    alone = best(doubted, trial(60.0, settings={"mode": "b"}, warning=lost))
    assert dict(alone.choice.winner.settings) == {"mode": "a"}
