"""Sizes that may vary: as they are declared, in what range they hold, what torch says of them."""

DOORS = {
    "dims": "Declared dimensions, and the relations in guards on sizes.",
    "shapes": "Matches dynamic_shapes with the inputs, and marks the example inputs.",
}
