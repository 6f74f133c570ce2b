"""Files of users, read and written by Spark for COPY INTO: which there are, their options, their rows with the errors.

May import: ``spark.table``. No JVM.
Invariant: each row of a file is either a good row or counted as an error of its file; none is lost without a word.
"""
