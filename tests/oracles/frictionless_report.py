"""What frictionless finds in data packages, and whether their data fit: a program for .venv-oracles, because frictionless brings a package that is under the GPL.

python frictionless_report.py PACKAGE...      prints a JSON list with the errors and the number of rows of each
"""

import json
import sys


def main(paths: list[str]) -> None:
    """Print what is found."""
    from frictionless import validate

    found = []
    for path in paths:
        report = validate(path, type="package")
        rows = [task.stats.get("rows") for task in report.tasks]
        found.append({"errors": [str(error) for error in report.flatten(["type", "note"])], "rows": rows})
    print(json.dumps(found))


if __name__ == "__main__":
    main(sys.argv[1:])
