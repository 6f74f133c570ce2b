"""Which files of a plan, and which of their rows, a read needs: by statistics and by indexes of files and of the table.

May import: ``store.global_index``, ``arrow.file_index``. No ``store.commit``.
Libraries: ``pyroaring`` in ``by_row_id``.
Invariant: what is left out has no row that the read wants. Where rows are merged, a single file is left out by its
keys alone, and by values only a section as a whole.
"""
