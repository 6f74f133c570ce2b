"""The REST catalog: databases, tables, views and functions that a server keeps (features 9.4; Java: RESTCatalog).

May import: ``catalogs``, ``store.evolution``.
Libraries: ``urllib3`` in ``dlf_tokens``, ``http``.
Invariants: a table of such a catalog is opened by its name (``rest://<catalog>/<database>/<table>``), and its snapshots
and schemas are published by the server, never by the creation of a file. A commit whose answer is lost deletes nothing.
No secret is part of a message, a log line or a repr.
"""
