"""Two compilations compared, as text, tables, a page and a widget."""
