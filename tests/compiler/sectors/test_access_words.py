"""What is said of an access is known; a cure is said only with what it gave when it was tried."""

from dataclasses import replace

import pytest

from workbench.compiler.interpreter.watched.access_log import Place
from workbench.compiler.sectors.sector_counts import Moved
from workbench.compiler.sectors.seen_accesses import (
    SeenAccess,
    WidenedAccess,
    describe_access,
    find_trouble,
)

GOOD = Moved(8, 4096, 128, 128, 128, 4096, 16, 16, 16, (4,), 0)
CASES = {
    "": GOOD,
    "narrow": Moved(32, 4096, 512, 128, 128, 4096, 16, 16, 16, (4,), 0),
    "masked": Moved(32, 4096, 512, 128, 128, 4096, 4, 16, 16, (4,), 0),
    "unaligned": Moved(32, 4096, 520, 128, 136, 4096, 4, 4, 16, (4,), 0),
    "strided": Moved(32, 4096, 1024, 128, 256, 4096, 4, 4, 4, (8,), 0),
    "transposed": Moved(32, 4096, 1024, 128, 1024, 4096, 4, 4, 4, (4, 400), 1),
    "shifted": Moved(32, 4096, 160, 128, 160, 4096, 4, 4, 4, (4,), 0, behind=4, earlier=128),
    "pitched": Moved(32, 4096, 240, 128, 240, 4096, 4, 4, 4, (292, 4), 1, earlier=240),
    "gather": Moved(32, 4096, 1024, 128, 1024, 4096, 4, 4, 4, (None,), 0),
}


def see(trouble: str) -> SeenAccess:
    width = 16 if trouble == "" else 4
    return SeenAccess(Place("k.py", 5), "read", (256,), 4, "x", width=width, moved=CASES[trouble])


@pytest.mark.parametrize("trouble", CASES)
def test_each_trouble_is_told_from_the_others(trouble):
    assert find_trouble(see(trouble)) == trouble


@pytest.mark.parametrize(
    ("trouble", "words"),
    [
        ("narrow", "16-byte aligned, but are moved 4 bytes at a time"),
        ("masked", "but the mask separates some of them, so 4 bytes are moved at a time"),
        ("unaligned", "do not start at a multiple of 16, so 4 bytes are moved at a time"),
        (
            "strided",
            "Neighbouring lanes are 2 elements apart in memory, so only 13 % of the fetched",
        ),
        ("transposed", "run along axis 0 of the block: swap its axes"),
        (
            "shifted",
            "An instruction touches 5 sectors; if aligned to a sector, it would touch 4. Every "
            "instruction starts 1 element (4 bytes) after a multiple of 32 bytes. Handle the first "
            "7 elements separately, or pass x as a view that starts 1 element before an aligned "
            "one.",
        ),
        (
            "pitched",
            "The rows of a block are 292 bytes apart, not a multiple of 32, so 53 % of "
            "the fetched bytes are used.",
        ),
        ("gather", "have no pattern, and 13 % of the fetched bytes are used"),
    ],
)
def test_without_a_trial_it_is_said_what_is_known_and_no_more(trouble, words):
    said = describe_access(see(trouble))

    assert words in said
    assert "compiled again" not in said


def test_an_argument_that_begins_behind_a_sector_itself_is_to_be_aligned():
    said = describe_access(replace(see("shifted"), start=4))

    assert "x itself starts 1 element (4 bytes) after a multiple of 32 bytes" in said
    assert "x.clone()" in said


def test_what_keeps_vectors_apart_names_how_far_they_are_off():
    moved = replace(CASES["unaligned"], behind=12)
    said = describe_access(replace(see("unaligned"), moved=moved, start=8))

    assert "Every instruction starts 3 elements (12 bytes) after a multiple of 32 bytes" in said
    assert "Handle the first 5 elements separately" in said
    assert "as a view that starts 1 element before an aligned one" in said


def test_nothing_is_said_of_what_is_as_good_as_it_can_be():
    assert describe_access(see("")) == ""


def test_a_gather_in_as_few_sectors_as_can_be_is_no_trouble():
    moved = Moved(64, 2048, 64, 64, 64, 2048, 4, 4, 4, (None,), 0)

    assert find_trouble(replace(see("gather"), moved=moved)) == ""


def test_a_cure_is_said_with_its_evidence():
    said = describe_access(see("narrow"), WidenedAccess((("n", 1000, 1008),), 16))

    assert said.endswith(
        "n = 1000 is not divisible by 16. When recompiled with n = 1008, this line moves 16 bytes "
        "at a time. Fix: pad n to 1008."
    )


def test_an_argument_that_begins_elsewhere_is_named():
    said = describe_access(see("unaligned"), WidenedAccess((("x", None, None),), 16))

    assert "x does not start at a multiple of 16 bytes. When recompiled with x aligned" in said
