"""How compiled code is called and checked: the plan, and guards tried on objects and examples."""

DOORS = {
    "plan": "Everything that a checked call needs.",
    "live_guards": "Guards that a live handle checks but a file cannot store.",
    "guard_sandbox": "Example calls for trying guards without the original tensors.",
}
