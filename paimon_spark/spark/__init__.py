"""The only package that imports pyspark: the data source and the table API.

Rooms, from the ground up: ``adapters``; ``write``; ``source`` and ``jobs``; ``native``; ``table``.
"""
