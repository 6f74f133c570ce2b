"""Warehouses and new tables: directories of databases, their tables, and the creation of a table.

May import: the store and what lies below.
Invariant: a table is created by its first schema file, in one atomic step.
"""
