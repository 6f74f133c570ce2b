"""The only package that imports pyspark: the data source and the table API."""
