"""Manifests, manifest lists and index manifests as values, and as columns for planning (format section 4).

May import: ``format.avro``.
Invariant: names of files are checked where they are decoded (``format.names``), so that no path leaves the table.
"""
