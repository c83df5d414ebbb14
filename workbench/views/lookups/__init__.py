"""What several panes and parts look up in a record."""
