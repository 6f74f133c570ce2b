"""DataFrames of tables in which Spark itself reads the files that need no merge.

A Python data source can give Spark rows only through Python. So what can be read as it lies in Parquet is read by
Spark's own scan, and only the rest by our source; the DataFrame is the union of both. It uses the DataFrame API alone,
so it is the same on classic Spark and on Connect.

A DataFrame may be made before it is known what is needed of it: it remembers what is done on it until it is read.

May import: ``spark.source``, ``sql.queries``. No JVM.
Invariant: the rows, the names and the types of a DataFrame do not depend on which files Spark reads itself.
"""
