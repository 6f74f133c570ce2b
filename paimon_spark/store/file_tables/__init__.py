"""Tables of other kinds, whose rows are in no snapshot: object tables, whose rows are the files of a directory, and
format tables, whose rows are in such files.

May import: ``store.system_tables``, ``store.write``, ``arrow.text_files``.
Invariants: a read lists the files that are there when it begins, and sees no older state. Files of a write are hidden
from readers until all of them are whole.
"""
