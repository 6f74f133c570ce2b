"""How a write fills table columns that its rows do not have (the write option `write.missing-columns`)."""

ERROR, NULL, DEFAULT = "error", "null", "default"
MISSING_COLUMNS = (ERROR, NULL, DEFAULT)
