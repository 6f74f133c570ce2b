"""Stores that fail, and tables that are damaged in one point."""
