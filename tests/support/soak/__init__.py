"""A soak: processes that work on a few tables at once and are killed, beside a record of what each row must be.

Each process owns a share of the keys and writes down, on a local disk, what it is about to do and what became of it
(``journal``). So at every snapshot the rows of its keys are known, but for the operations whose answer it has not seen:
of those both outcomes are expected until a read decides (``expected``). ``soak`` starts and kills the processes, and
compares all tables with what is expected when they rest. ``./dev soak`` is ``program``.

The processes are ``writer`` (rows), ``keeper`` (compaction, expiry, tags, columns, orphans), ``reader`` (old states)
and ``copier`` (streams); ``tests/interop/java_soak.py`` is the genuine Java.
"""
