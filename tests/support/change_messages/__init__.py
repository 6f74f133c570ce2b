"""Change messages for tests: random histories of a table, and each format written by its public specification.

Nothing here uses the decoders: what a message means is said a second time.
"""
