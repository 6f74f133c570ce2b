"""Streams: the rows of a table as they come, from a position on that a query keeps in its checkpoint.

``stream.TableStream`` is what an engine drives: an initial position, the position up to which there is something to
read, and the units between two positions. What Spark needs beside that is in ``spark/stream_source``.

May import: ``store.system_tables``.
Invariants: the units between two positions are the same whoever asks, and whenever, as long as their files are there; a
position that cannot be continued is an error, never a guess.
"""
