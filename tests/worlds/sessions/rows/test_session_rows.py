"""What users read about the tables of a session."""

from __future__ import annotations

import re
from dataclasses import fields

import workbench as wb
from workbench.worlds.sessions.rows.session_rows import SESSION_TABLES


def test_help_names_every_table_with_its_columns() -> None:
    text = " ".join((wb.session.__doc__ or "").split())
    for name, row_type in SESSION_TABLES.items():
        found = re.search(rf"`{name}`[^:`]*: ([\w, ]+)\.", text)
        assert found is not None, name
        assert found[1].split(", ") == [field.name for field in fields(row_type)]
