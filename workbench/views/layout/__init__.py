"""Layered layout of graphs in time proportional to their edges.

The layout libraries need 30 s or crash at 10,000 nodes (measured); this one takes a few tenths of a
second because it never lets a long edge become a chain of thousands of dummy nodes.
"""

from workbench.views.layout.layered import GAP_Y, NODE_HEIGHT, NODE_WIDTH, Layout, layered

DOORS = {
    "layered": "Places nodes in layers and routes the edges between them.",
}
"""What other rooms import of this one."""

__all__ = ["GAP_Y", "NODE_HEIGHT", "NODE_WIDTH", "Layout", "layered"]
