"""Avro files: the container, records by fastavro, and columns decoded by numpy.

May import: ``format``.
Libraries: ``cramjam``, ``zstandard`` in ``container``; ``fastavro`` in ``file``.
Invariant: the size that a file may reach in memory is bounded before anything is decoded.
"""
