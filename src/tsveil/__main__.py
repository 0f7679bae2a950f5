"""`python -m tsveil` is the command line."""

from tsveil.cli import main

if __name__ == "__main__":
    main(prog_name="tsveil")
