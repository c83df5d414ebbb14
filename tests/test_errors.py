"""What is kept of an error where there is room for one line."""

from __future__ import annotations

from workbench.errors import ContractError, read_first_line


def test_a_line_that_only_announces_has_the_next_one_with_it() -> None:
    said = ContractError(
        "This call does not fit what f was compiled for:\n  grad mode: expected off"
    )
    assert read_first_line(said).endswith("compiled for: grad mode: expected off")
    assert read_first_line(ContractError("It is no file.\nTry another.")) == "It is no file."
    assert read_first_line(ContractError("Nothing follows:")) == "Nothing follows:"
    assert read_first_line(ValueError()) == "ValueError"
