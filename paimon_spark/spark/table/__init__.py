"""``PaimonTable``: what can be done with a table beyond ``spark.read`` and ``df.write``, on classic Spark and Connect.

May import: all rooms of ``spark`` and what lies below.
"""
