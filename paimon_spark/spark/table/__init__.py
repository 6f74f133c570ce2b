"""``PaimonTable``: what can be done with a table beyond ``spark.read`` and ``df.write``, on classic Spark and Connect.

May import: ``spark.cdc``, ``spark.merge_into``, ``procedures``, ``store.checks``. No JVM.
"""
