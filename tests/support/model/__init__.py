"""The protocol between jobs (docs/internals/protocol.md) as a small model, of which every order of steps is tried."""
