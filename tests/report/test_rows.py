from __future__ import annotations

from workbench.report.rows import split_line


def test_an_id_names_a_source_and_a_line() -> None:
    assert split_line("L:s0:12") == ("s0", 12)


def test_an_id_of_a_later_release_is_kept_as_it_is() -> None:
    for id in ("a later word", "L:s0", "L:s0:12:4", "L:s0:twelve", "", "L:s0:" + "9" * 5000):
        assert split_line(id) == (id, 0)
