"""Functions with one graph break each, of the kinds that users meet most, and how it is cured."""

from __future__ import annotations

import datetime
import itertools
import logging
import random
import sys
import time
import warnings

import numpy as np
import torch
from tqdm import tqdm

log = logging.getLogger(__name__)
numbers = itertools.count()


def counted(x: torch.Tensor) -> torch.Tensor:
    c = torch.bincount(x.gt(0).long(), minlength=2).tolist()
    return x * c[0]


def counted_experts(x: torch.Tensor) -> torch.Tensor:
    index = x.gt(0).long()
    counts = torch.bincount(index, minlength=2).cpu().tolist()
    out = torch.zeros_like(x)
    for expert in range(2):
        out = out + (index == expert) * x * counts[expert]
    return out


def split_by_counts(x: torch.Tensor) -> torch.Tensor:
    index = x.gt(0).long()
    counts = torch.bincount(index, minlength=2).tolist()
    parts = torch.split(x[index.argsort()], counts)
    return torch.cat([part * (number + 1) for number, part in enumerate(parts)])


def logged(x: torch.Tensor) -> torch.Tensor:
    y = x.relu()
    log.warning("a message")
    return y * 2


def warned(x: torch.Tensor) -> torch.Tensor:
    y = x.relu()
    warnings.warn("a warning", stacklevel=2)
    return y * 2


def written(x: torch.Tensor) -> torch.Tensor:
    y = x.relu()
    sys.stdout.write("text\n")
    return y * 2


def printed_next(x: torch.Tensor) -> torch.Tensor:
    y = x.relu()
    print(next(numbers))
    return y * 2


def warned_of_a_value(x: torch.Tensor) -> torch.Tensor:
    y = x.relu()
    if y.max() > 1000:
        warnings.warn("large", stacklevel=2)
    return y * 2


def slept(x: torch.Tensor) -> torch.Tensor:
    y = x.relu()
    time.sleep(0)
    return y * 2


def timed(x: torch.Tensor) -> torch.Tensor:
    y = x.relu()
    start = time.time()
    return y * 2 + start * 0


def dated(x: torch.Tensor) -> torch.Tensor:
    y = x.relu()
    _now = datetime.datetime.now()
    return y * 2


def drawn(x: torch.Tensor) -> torch.Tensor:
    y = x.relu()
    r = random.random()
    return y * r


def drawn_normal(x: torch.Tensor) -> torch.Tensor:
    y = x.relu()
    return y * random.gauss(0, 1)


def drawn_of_numpy(x: torch.Tensor) -> torch.Tensor:
    y = x.relu()
    return y * float(np.random.rand())


def drawn_to_branch(x: torch.Tensor) -> torch.Tensor:
    y = x.relu()
    if random.random() < 0.5:
        y = y * 2
    return y


def with_progress(x: torch.Tensor) -> torch.Tensor:
    for i in tqdm(range(3)):
        x = x + i
    return x


def asserted_not(x: torch.Tensor) -> torch.Tensor:
    assert not torch.isnan(x).any()
    return x.relu() * 2


def asserted_both(x: torch.Tensor) -> torch.Tensor:
    assert x.sum() > 0 and x.max() < 100, "out of range"  # noqa: PT018
    return x.relu() * 2


def asserted_with_a_value(x: torch.Tensor) -> torch.Tensor:
    assert x.sum() > 0, f"bad {x.sum()}"
    return x.relu() * 2


def asserted_close(x: torch.Tensor) -> torch.Tensor:
    assert torch.allclose(x, x + 0)
    return x.relu() * 2


def raising(x: torch.Tensor) -> torch.Tensor:
    if torch.isnan(x).any():
        raise ValueError(f"not a number in {x.shape}")
    return x.relu() * 2


def branching_on_both(x: torch.Tensor) -> torch.Tensor:
    if x.sum() > 0 and 0 < x.max() < 10:
        x = x + 1
    return x * 2


def branching_on_equal(x: torch.Tensor) -> torch.Tensor:
    if torch.equal(x, x + 0):
        return x + 1
    return x * 2


def branching_on_a_member(x: torch.Tensor) -> torch.Tensor:
    if 2.0 in x:
        return x + 1
    return x * 2


def branching_on_any(x: torch.Tensor) -> torch.Tensor:
    if any(v > 0 for v in x):
        x = x + 1
    return x * 2


def unpacked(x: torch.Tensor) -> torch.Tensor:
    a, b = x[:2].tolist()
    return x * a + b


def differentiated(x: torch.Tensor) -> torch.Tensor:
    w = x.detach().clone().requires_grad_(True)
    (g,) = torch.autograd.grad((w * w).sum(), w)
    return g * 2


def run_backward(x: torch.Tensor) -> torch.Tensor:
    w = x.detach().clone().requires_grad_(True)
    (w * w).sum().backward()
    assert w.grad is not None
    return w.grad * 2


def on_one_line(x: torch.Tensor) -> torch.Tensor:
    y = x.relu(); print("one line"); return y * 2  # fmt: skip # noqa: E702


def in_elif(x: torch.Tensor) -> torch.Tensor:
    if x.shape[0] == 3:
        y = x
    elif x.sum() > 0:
        y = x + 1
    else:
        y = x - 1
    return y * 2


def raising_in_elif(x: torch.Tensor) -> torch.Tensor:
    if x.shape[0] == 3:
        x = x + 1
    elif torch.isnan(x).any():
        raise ValueError("not a number")
    return x.relu() * 2


PROGRAMS = (
    *(on_one_line, in_elif, raising_in_elif),
    *(counted, counted_experts, split_by_counts, logged, warned, written, printed_next),
    *(warned_of_a_value, slept, timed, dated, drawn, drawn_normal, drawn_of_numpy),
    *(drawn_to_branch, with_progress, asserted_not, asserted_both, asserted_with_a_value),
    *(asserted_close, raising, branching_on_both, branching_on_equal, branching_on_a_member),
    *(branching_on_any, unpacked, differentiated, run_backward),
)
