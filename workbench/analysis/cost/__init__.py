"""What each kernel costs: measured, bounded by a model, or the bytes that it moves."""
