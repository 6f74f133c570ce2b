"""Verifies a whole table: that what its metadata say is true of its files."""
