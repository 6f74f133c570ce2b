"""The LSM tree as arithmetic: sorted runs, sections, sort-merge. Pure: no I/O, no clock."""
