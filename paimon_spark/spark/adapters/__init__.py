"""What passes between Spark and this package: types, batches, options, paths, errors, tasks.

May import: ``sql.text``, ``writes``.
Invariant: an error reaches Spark as one sentence of ours.
"""
