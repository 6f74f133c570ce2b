"""The LSM tree as arithmetic, without storage and without a clock.

Rooms, from the ground up: ``keys``, ``aggregates``, ``engines``, ``runs``, ``compaction``.
"""
