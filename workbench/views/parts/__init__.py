"""The parts that a view asks for by name, each built from a report when it is asked for."""
