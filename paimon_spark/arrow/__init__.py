"""Arrow in, Arrow out: types, file formats, schema evolution, predicates, statistics, buckets. Pure of storage."""
