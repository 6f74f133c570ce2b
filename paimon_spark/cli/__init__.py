"""The program ``paimon-spark``: what the store can do, from a shell. It needs no Spark and does not import it."""
