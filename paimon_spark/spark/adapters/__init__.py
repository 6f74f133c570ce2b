"""What passes between Spark and this package: types, batches, options, paths, errors, tasks.

May import: catalog, store and what lies below.
Invariant: an error reaches Spark as one sentence of ours.
"""
