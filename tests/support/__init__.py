"""What the tests share: nothing here is a test."""
