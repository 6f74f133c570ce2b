"""Metadata of Apache Iceberg as bytes: schemas, manifests, manifest lists and the metadata file (features 3.22).

The rules are those of Iceberg's format specification, versions 2 and 3, in the form that the official system writes
(Java: the package ``iceberg``).

May import: ``format.avro``.
Invariant: what the official system 2.0.0 goes on from is written, and what it writes is read.
"""
