"""What records, panes and worlds show themselves with: blocks, actions, changes."""
