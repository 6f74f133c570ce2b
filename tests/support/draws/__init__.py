"""Random types, values, conditions and tables."""
