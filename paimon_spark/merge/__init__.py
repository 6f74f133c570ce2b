"""The rules of the LSM tree as pure functions: merging rows, and choosing files to compact.

No storage, no clock. Java names are those of the
2.1 snapshot that docs/internals/format.md and features.md describe, unless a release is given.
"""
