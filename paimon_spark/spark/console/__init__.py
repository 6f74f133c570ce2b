"""What ``paimon-spark sql`` needs of Spark: a session that prints nothing, and statements that can be stopped.

May import: ``spark.statements``.
Libraries: ``py4j`` in ``quiet_session``.
Invariant: what leaves this room is Arrow rows, or an error of ours that is one sentence.
"""
