"""Measures of a release, a file each, and the score card with their figures. Nothing here protects, verifies or writes files."""
