"""What must be true, computed naively: models, comparisons and checks."""
