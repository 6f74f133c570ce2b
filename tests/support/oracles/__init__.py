"""What must be true, told naively: models, comparisons and checks."""
