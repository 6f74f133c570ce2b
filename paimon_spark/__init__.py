"""Apache Paimon tables on PySpark, in Python alone.

``open_table`` needs no Spark: schema, snapshots, and Arrow batches of any table. ``PaimonTable`` is the same for Spark.
"""
