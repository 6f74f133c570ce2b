"""One table on storage.

Rooms, from the ground up: ``storage`` and ``reporting``; ``metadata``; ``holds`` and ``buckets``; ``read`` and
``commit``; ``scan``, ``write`` and ``expire``; ``compact``, ``history`` and ``system_tables``; ``rescale``, ``clean``
and ``open``; ``upkeep`` and ``checks``. Rooms of one floor do not import each other.

A name after "Java:" is a class or method of the official system, as the sources of its 2.1 snapshot have it
(docs/internals/format.md and features.md), unless another release is given.
"""
