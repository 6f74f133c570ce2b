"""One table on storage.

Rooms, from the ground up: ``storage`` and ``reporting``; ``metadata``; ``holds`` and ``buckets``; ``read`` and
``commit``; ``scan``, ``write`` and ``expire``; ``compact``, ``history`` and ``system_tables``; ``rescale``, ``clean``
and ``open``; ``upkeep`` and ``checks``. Rooms of one floor do not know each other.
"""
