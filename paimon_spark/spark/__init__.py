"""The only package that imports pyspark: the data source, the table API, and SQL.

Libraries: ``pyspark``.
"""
