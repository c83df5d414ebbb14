"""A profile as one screen of a terminal."""

from __future__ import annotations

from tests.made_profile import make_profile, run
from workbench.worlds.profiles.rows.profile_rows import ProfileOpportunity

LONG = "void at::native::vectorized_elementwise_kernel<4, at::native::AUnaryFunctor<float> >" * 4


def test_a_terminal_shows_a_screen_with_short_names_and_units() -> None:
    kernels = [
        run("k0", LONG, "aten::mul", (64, 1024), (64, 1024), calls=3, time_us=2_000.0, share=0.8),
        *(run(f"k{n}", f"{LONG}{n}", "aten::add", (64, n), (64, n)) for n in range(1, 40)),
    ]
    profile = make_profile(kernels=kernels)

    lines = str(profile).splitlines()

    assert len(lines) <= 25
    assert max(map(len, lines)) <= 80
    assert any(line.startswith("mul 64 × 1024") and "2.00 ms" in line for line in lines)
    assert 'more: .frame("kernels")' in lines[-1]
    assert repr(profile) == "RunProfile(h100, 40 kernels, 42 calls)"


def test_a_change_says_what_it_may_save_or_what_it_concerns() -> None:
    kernels = [run("k0", "k0", "aten::add", (64,), (64,))]
    long = "Compile the model: 12 chains of kernels of several modules could be one each"
    changes = [
        ProfileOpportunity("fusion", long, "", of_us=10.0, least_us=2.0, most_us=4_000.0),
        ProfileOpportunity("layout", "Keep one layout", "", of_us=10.0, most_us=4.0),
        ProfileOpportunity("attention", "Use an attention kernel", "", of_us=10.0),
    ]

    shown = str(make_profile(kernels=kernels, opportunities=changes)).splitlines()

    lines = [line for line in shown if line.startswith("do ")]
    assert lines[0].endswith("…  saves 2.00 µs to 4.00 ms")
    assert len(lines[0]) == 80
    assert lines[1].endswith("Keep one layout  saves up to 4.00 µs")
    assert lines[2].endswith("Use an attention kernel  concerns 10.0 µs")


def test_a_profile_of_nothing_says_so() -> None:
    assert str(make_profile()).startswith("This profile has no device work")
