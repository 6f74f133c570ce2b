"""Aggregate functions: each folds the values of one column, key by key, into one value a key."""
