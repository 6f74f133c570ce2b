"""The sink of ``df.writeStream``, and the batches of ``PaimonTable.write_stream``: Spark's names for what the
store does.

May import: ``spark.write``.
Invariant: the commit user comes from the query id, never from a path; files are deleted only when it is certain that no
commit was tried with them.
"""
