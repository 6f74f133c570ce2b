"""One table on storage: schemas, snapshots, scan, read, write, commit."""
