"""What is on disk: bytes or text <-> frozen values. Pure: no I/O, no clock."""
