"""The command line: a door to the same line as the Python API. Nothing is computed here that Python could not ask for as well.

A file per group of commands; `terminal` is the only module that prints. Commands import what they need when they are run, so that
`--help` answers at once.
"""

from tsveil.cli.program import main

__all__ = ["main"]
