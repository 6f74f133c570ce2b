"""Removes rows or files from a table: truncation, expired partitions, orphan files, lost files, purge.

May import: ``store.compact``, ``store.history``.
Invariant: orphan removal reads all users of files before it deletes, and deletes nothing if one cannot be read.
"""
