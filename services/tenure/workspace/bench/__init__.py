"""Benchmarks: commands that print figures with a baseline of the same run."""
