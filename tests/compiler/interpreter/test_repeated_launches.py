"""A launch is known by its kernel and by all bytes that its arguments lie in."""

from __future__ import annotations

from typing import Any

import torch

from workbench.compiler.interpreter.interpreter_session import RepeatedLaunches, digest_launch


def digest(*given: Any) -> bytes:
    return digest_launch("kernel", (), given, None)


def test_what_a_launch_wrote_is_written_again() -> None:
    known = RepeatedLaunches()
    x, y = torch.arange(4.0), torch.zeros(4)
    key = digest(x, y, 4)
    assert known.find(key, (x, y, 4)) is None
    y.copy_(x * 2)
    known.keep(key, (x, y, 4), "XBLOCK=4", frozenset({y.untyped_storage().data_ptr()}))
    again, other = torch.arange(4.0), torch.zeros(4)
    found = known.find(digest(again, other, 4), (again, other, 4))
    assert found == ("XBLOCK=4", frozenset({other.untyped_storage().data_ptr()}))
    assert torch.equal(other, x * 2)
    assert torch.equal(again, x)
    assert (known.asked, known.ran) == (2, 1)


def test_other_bytes_arguments_and_overlaps_are_other_launches() -> None:
    x = torch.arange(4.0)
    twin = x.clone()
    keys = [
        digest(x, twin, 4),
        digest(x, x, 4),  # the kernel may write to what it reads
        digest(x, twin, 5),
        digest(x[:2], twin, 4),
        digest(x, twin + 1, 4),
        digest(x, twin.view(torch.int32), 4),
        digest_launch("other", (), (x, twin, 4), None),
        digest_launch("kernel", ("n",), (x, twin, 4), None),
        digest_launch("kernel", (), (x, twin, 4), (2, 1, 1)),
    ]
    assert len(set(keys)) == len(keys)
    assert digest(x.clone(), x.clone(), 4) == keys[0]
