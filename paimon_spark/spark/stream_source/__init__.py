"""What Spark needs of a stream of a table: ``DataSourceStreamReader`` over ``store.stream_source``.

May import: ``spark.adapters``, ``store.stream_source``.
Invariants: the object that plans lives in one process for a whole run of a query; the object that reads in tasks is
another one, made once a run, and carries no plan.
"""
