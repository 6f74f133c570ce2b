"""Change data capture in Spark: DataFrames of messages become DataFrames of rows, and tables follow them.

The decoders are in ``cdc``; here is what Spark calls.

May import: ``spark.adapters``, ``cdc.batches``.
Invariants: what comes of a batch of messages does not depend on how Spark cuts it in tasks; the changes of a key are
written in the order of their messages.
"""
