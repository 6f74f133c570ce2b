"""The only package that imports pyspark: the data source, the table API, and SQL.

Rooms, from the ground up: ``adapters``; ``write``; ``source`` and ``jobs``; ``native``; ``table``;
``queries``; ``copy``; ``statements``; ``catalog``; ``console``.
"""
