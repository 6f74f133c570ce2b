"""Several actors on one table, in an order that a seed chooses."""
