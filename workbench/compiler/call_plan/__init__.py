"""How compiled code is called and checked: the plan, and guards tried on objects and examples."""

DOORS = {
    "plan": "All that a checked call needs.",
    "live_guards": "Guards that a live handle compares and a file drops.",
    "guard_sandbox": "Example calls, on which guards are tried without the tensors.",
}
