"""The formats of messages: a reader for each, which tells what one message says.

May import: ``cdc``.
Invariant: a reader keeps no state of the stream but caches of schemas; a message means the same wherever it stands.
"""
