"""The notes of streams, and of other writers that name their batches, beside a table.

A note says which batch a writer committed last, or was committing. The official system has no such files; snapshots
cannot be the only memory of a writer, because they expire. Before snapshots expire that could tell what became of a
batch that was cut off, the expiry looks for it in them and writes down what it found.

May import: ``store.metadata``.
"""
