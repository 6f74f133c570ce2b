"""What passes between Spark and this package: types, batches, options, paths, errors, tasks.

May import: ``catalogs``, ``store.evolution``, ``sql.text``.
Invariant: an error reaches Spark as one sentence of ours.
"""
