"""Sizes that may vary: as they are declared, in what range they hold, what torch says of them."""

DOORS = {
    "dims": "A declared dimension, and the relations that guards on sizes state.",
    "shapes": "dynamic_shapes matched with the inputs, and marks on the examples.",
}
