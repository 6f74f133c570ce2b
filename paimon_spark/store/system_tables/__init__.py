"""What a table tells of itself, as tables (features 1.6; Java: package org.apache.paimon.table.system)."""
