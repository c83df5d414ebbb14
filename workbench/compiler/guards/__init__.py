"""Torch's guards: which are kept, what each says in words, where inlined code stands among them."""

DOORS = {
    "guard_policy": "Decides whether each guard is kept, and generates a fast check.",
    "guard_words": "Writes a guard and its value in readable form.",
    "inlined_places": "Finds the guards of inlined functions.",
}
