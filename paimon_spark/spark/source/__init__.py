"""The data source behind ``format("paimon")``: what ``spark.read`` and ``df.write`` reach.

May import: ``spark.stream_sink``, ``spark.stream_source``. No JVM.
Invariant: Spark calls it in fresh Python processes, so modules import late what not every process needs.
"""
