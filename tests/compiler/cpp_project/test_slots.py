"""The queue in front of the runners, alone: it needs no torch, and so builds in a second."""

from __future__ import annotations

import subprocess
from importlib.resources import files
from string import Template

PROGRAM = """
#include <atomic>
#include <chrono>
#include <iostream>
#include <thread>
#include <vector>

#include "slots.hpp"

int main() {
  client::Slots slots(2);
  std::atomic<int> asking = 0;
  std::vector<std::jthread> threads;
  const auto ask = [&](const char* name, std::size_t count) {
    threads.emplace_back([&slots, &asking, name, count] {
      ++asking;
      const client::SlotLock held(slots, count);
      std::cout << name << ' ';
    });
    const int before = static_cast<int>(threads.size());
    while (asking < before) {
      std::this_thread::yield();
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  };
  slots.acquire(2);
  ask("call", 1);
  ask("exchange", 2);
  ask("later", 2);
  slots.release(2);
  const client::SlotLock again(slots, 2);
  std::cout << "again" << std::endl;
}
"""


def test_who_asked_first_is_served_first(tmp_path):
    """Also when the one that gives its places back asks again at once."""
    template = files("workbench.compiler.cpp_project") / "templates" / "slots.hpp"
    text = Template(template.read_text()).substitute(namespace="client")
    (tmp_path / "slots.hpp").write_text(text)
    (tmp_path / "main.cpp").write_text(PROGRAM)
    flags = ("-std=c++20", "-Wall", "-Wextra", "-Werror", "-pthread", "-o", "queue")
    subprocess.run(["g++", "main.cpp", *flags], cwd=tmp_path, check=True)
    said = subprocess.run([tmp_path / "queue"], capture_output=True, text=True, check=True).stdout
    assert said.split() == ["call", "exchange", "later", "again"]
