"""What a write does with columns of the table that its rows lack (its option `write.missing-columns`)."""

ERROR, NULL, DEFAULT = "error", "null", "default"
MISSING_COLUMNS = (ERROR, NULL, DEFAULT)
