"""The program ``paimon-spark``: what the store can do, from a shell.

Here: the program, its arguments, messages, and how values are printed. Commands are in ``commands``, but for ``sql``,
which is in the room ``shell`` above.
May import: ``procedures``. No Spark.
Libraries: ``typer``; ``rich``.
Invariant: stdout holds the output alone; messages go to stderr; an error is one sentence and exit code 2.
"""
