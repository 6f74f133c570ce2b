"""Merge engines: each turns the rows of one window into the rows that a reader or a compaction keeps."""
