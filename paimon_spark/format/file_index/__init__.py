"""Indexes of single data files: bytes <-> values (format section 9).

The indexes of a data file are stored in one container (``container``), in the manifest or next to the data file. An
index may only exclude rows and files: whatever it does not exclude is still checked. Today only the container is read,
for the system table ``$file_indexes``; no read uses the codecs of the index types yet.

May import: errors, ``format``.
"""
