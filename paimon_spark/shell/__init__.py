"""``paimon-spark sql``: statements of SQL from a command line, from a file, and from a shell with completion.

May import: ``spark.console``, ``cli.commands``, ``catalogs.factory``.
Libraries: ``typer``; ``prompt_toolkit`` in ``prompt``.
Invariant: as in ``cli``: stdout holds rows alone, messages go to stderr, and an error is one sentence. Nothing here
imports Spark before a statement is to be run: the help of the command does not wait for it.
"""
