"""Names in a Hive metastore, for the catalog over files (Java: HiveCatalog).

A table is altered files first and the copy of its columns and options second, as by Java. A rename is one call of the
metastore, which moves the directory. What a crash leaves between the steps is no table for anybody, or one whose copy
in the metastore is old; ``CALL sys.repair`` mends both.

May import: ``catalogs``.
Libraries: ``pymetastore``; ``thrift`` in ``connections``, ``metastore``, ``transports``. Those of Kerberos and of
certificates are loaded when they are asked for.
Invariant: the files say what a table is. What the metastore has of it beside its name and its place is a copy for
others, and is never read to open a table.
"""
