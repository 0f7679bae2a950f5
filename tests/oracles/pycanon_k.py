"""The k of published files over some columns, as pycanon counts it: a program for .venv-oracles, because pycanon asks for single versions of libraries.

python pycanon_k.py COLUMN,COLUMN FILE...      prints a JSON list of numbers, one for each file
"""

import json
import sys


def main(columns: list[str], files: list[str]) -> None:
    """Print the k of each file."""
    import pandas as pd
    from pycanon import anonymity

    # An empty cell is a value like any other here; pandas would leave such rows out of its groups.
    tables = (pd.read_csv(file, dtype=str, keep_default_na=False) for file in files)
    print(json.dumps([int(anonymity.k_anonymity(table, columns)) for table in tables]))


if __name__ == "__main__":
    main(sys.argv[1].split(","), sys.argv[2:])
