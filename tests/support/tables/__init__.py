"""Tables that tests begin with, and what lies in their files."""
