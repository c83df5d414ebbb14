"""The panes of the view of a report: one file each, listed in `registry.py`.

Add a pane
----------
1. `workbench/views/panes/<name>_pane.py`: `document(report, setting)` returns a `Content`, plain
   data by key, which is all that is ever read from the record for it, and its answer in a few
   words; `PANE = Pane(id, title, document, question=ID)` joins the question that it answers.
2. `workbench/views/panes/registry.py`: its place among the tabs.
3. `workbench/views/wire/report_messages.py`: its keys in `Document`; the types of their rows there
   or in a file beside it. `python -m workbench.views.typescript` writes them to the front end.
4. `assets/frontend/src/<name>/register.tsx` with the pane beside it: how it is drawn.
5. `assets/frontend/src/panes.ts`: the same place among the tabs.
6. `tests/views/panes/test_<name>_pane.py`: what it says of a record that has something, and of
   one that has nothing.

A pane of a world is in the world's folder instead; its `world.py` lists it. Where no script runs a
pane is shown when it has a `section`, or `views/pages/report_page.py` has one for it.
"""

DOORS = {
    "pane": "The interface of every pane, and its context.",
    "questions": "The five questions of the view, each with its answer and its panes.",
    "registry": "The panes of a report's view, in tab order.",
}
"""What other rooms import of this one."""
