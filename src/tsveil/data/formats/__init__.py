"""The formats of files, one module for each family: how it is recognised, opened, written and read back. `known` has the table of all of them.

A new format is a class in a module here and a line in `known`. No other package names a format.
"""
