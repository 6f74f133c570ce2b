"""Programs and servers that tests start."""
