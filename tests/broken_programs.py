"""Functions with one graph break each, of the kinds that users meet most, and how it is cured."""

from __future__ import annotations

import copy
import datetime
import hashlib
import itertools
import json
import logging
import os
import pickle
import random
import subprocess
import sys
import threading
import time
import uuid
import warnings

import numpy as np
import torch
from tqdm import tqdm

log = logging.getLogger(__name__)
numbers = itertools.count()
SETTINGS = os.path.join(os.path.dirname(torch.__file__), "version.py")
lock = threading.Lock()
noted: dict[str, object] = {}


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
    y = x.relu()
    print("one line")
    return y * 2


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


def while_a_value(x: torch.Tensor) -> torch.Tensor:
    while x.sum() < 50:
        x = x * 2
    return x + 1


def counting_rounds(x: torch.Tensor) -> torch.Tensor:
    n = 0
    while x.abs().max() > 1:
        x = x / 2
        n += 1
    return x * n


def reading(x: torch.Tensor) -> torch.Tensor:
    y = x.relu()
    with open(SETTINGS) as file:
        k = float(len(file.read()))
    return y * k


def reading_a_number(x: torch.Tensor) -> torch.Tensor:
    y = x.relu()
    return y * float(len(open(SETTINGS).read()))


def reading_json(x: torch.Tensor) -> torch.Tensor:
    y = x.relu()
    k = json.loads('{"k": 3}')["k"]
    return y * k


def writing_json(x: torch.Tensor) -> torch.Tensor:
    y = x.relu()
    text = json.dumps({"a": 1})
    return y * len(text)


def looking_for_a_file(x: torch.Tensor) -> torch.Tensor:
    y = x.relu()
    if os.path.exists(SETTINGS):
        y = y * 2
    return y


def asking_for_a_size(x: torch.Tensor) -> torch.Tensor:
    y = x.relu()
    return y * os.path.getsize(SETTINGS)


def pickling(x: torch.Tensor) -> torch.Tensor:
    y = x.relu()
    k = pickle.loads(pickle.dumps({"k": 2}))["k"]
    return y * k


def hashing(x: torch.Tensor) -> torch.Tensor:
    y = x.relu()
    h = int(hashlib.md5(b"abc").hexdigest(), 16) % 7
    return y * h


def naming(x: torch.Tensor) -> torch.Tensor:
    y = x.relu()
    _id = uuid.uuid4()
    return y * 2


def testing_a_number(x: torch.Tensor) -> torch.Tensor:
    t = x.sum()
    if t.item() > 0:
        x = x * 2
    return x + 1


def copied_deeply(x: torch.Tensor) -> torch.Tensor:
    y = copy.deepcopy(x)
    y += 1
    return y * 2 + x


def copied(x: torch.Tensor) -> torch.Tensor:
    y = copy.copy(x)
    return y * 2 + x


def mean_by_numpy(x: torch.Tensor) -> torch.Tensor:
    k = x.detach().cpu().numpy().sum()
    return x * float(k)


def drawn_twice(x: torch.Tensor) -> torch.Tensor:
    y = x.relu()
    return y * random.random() + random.random()


def drawn_in_two_ways(x: torch.Tensor) -> torch.Tensor:
    y = x.relu()
    return y * random.gauss(0, 1) + random.uniform(0.5, 1.5)


def drawn_to_two_names(x: torch.Tensor) -> torch.Tensor:
    a, b = random.random(), random.random()
    return x * a + b


def shuffled(x: torch.Tensor) -> torch.Tensor:
    return x[np.random.permutation(8)] * 2


def sampled(x: torch.Tensor) -> torch.Tensor:
    places = random.sample(range(8), 3)
    return x[places] * 2


def chosen_by_numpy(x: torch.Tensor) -> torch.Tensor:
    y = x.relu()
    return y * np.random.choice(4)


def chosen_of_floats(x: torch.Tensor) -> torch.Tensor:
    y = x.relu()
    return y * np.random.choice([0.5, 1.5])


def keyed_by_a_value(x: torch.Tensor) -> torch.Tensor:
    table = {0: x + 1, 1: x - 1}
    return table[int(x.sum() > 0)] * 2


def picked_by_a_value(x: torch.Tensor) -> torch.Tensor:
    parts = [x + 1, x * 2, x - 3]
    return parts[x.argmax() % 3] * 2


PROGRAMS = (
    *(while_a_value, counting_rounds, reading, reading_a_number, reading_json, writing_json),
    *(looking_for_a_file, asking_for_a_size, pickling, hashing, naming, testing_a_number),
    *(copied_deeply, copied, mean_by_numpy, drawn_twice, drawn_in_two_ways, drawn_to_two_names),
    *(shuffled, sampled, chosen_by_numpy, chosen_of_floats, keyed_by_a_value, picked_by_a_value),
    *(on_one_line, in_elif, raising_in_elif),
    *(counted, counted_experts, split_by_counts, logged, warned, written, printed_next),
    *(warned_of_a_value, slept, timed, dated, drawn, drawn_normal, drawn_of_numpy),
    *(drawn_to_branch, with_progress, asserted_not, asserted_both, asserted_with_a_value),
    *(asserted_close, raising, branching_on_both, branching_on_equal, branching_on_a_member),
    *(branching_on_any, unpacked, differentiated, run_backward),
)


def locking(x: torch.Tensor) -> torch.Tensor:
    y = x.relu()
    with lock:
        y = y * 2
    return y + 1


def starting_a_program(x: torch.Tensor) -> torch.Tensor:
    y = x.relu()
    subprocess.run(["true"], check=True)
    return y * 2


def asking(x: torch.Tensor) -> torch.Tensor:
    y = x.relu()
    return y * float(input())


def noting_the_time(x: torch.Tensor) -> torch.Tensor:
    y = x.relu()
    noted["at"] = datetime.datetime.now().isoformat()
    return y * 2


def noting_a_name(x: torch.Tensor) -> torch.Tensor:
    y = x.relu()
    noted["id"] = uuid.uuid4().hex
    return y * 2


def writing_a_file(x: torch.Tensor) -> torch.Tensor:
    y = x.relu()
    with open(os.devnull, "a") as file:
        file.write("text")
    return y * 2


def saving(x: torch.Tensor) -> torch.Tensor:
    y = x.relu()
    torch.save(y, os.devnull)
    return y * 2


def seeded(x: torch.Tensor) -> torch.Tensor:
    torch.manual_seed(3)
    return x * 2


def ending_early(x: torch.Tensor) -> torch.Tensor:
    for _ in range(4):
        x = x * 2
        if x.abs().max() > 10:
            break
    return x + 1


WITHOUT_CURE = {
    locking: "hold the lock around the compiled call",
    starting_a_program: "run the process outside compiled code",
    asking: "read the input before the call",
    noting_the_time: "compute it before the compiled call",
    noting_a_name: "compute it before the compiled call",
    writing_a_file: "write the file outside compiled code",
    saving: "write the file outside compiled code",
    seeded: "seed the generator and draw the numbers outside compiled code",
    ending_early: "compile each side as its own function",
}
"""Functions whose breaks no change of a few lines takes away, and what is said of each."""
