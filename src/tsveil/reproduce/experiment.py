"""What an experiment is: which table it makes again, from which files, by which definitions, and the function that does it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from tsveil.reproduce.printed import Row, Table, printed_tables
from tsveil.reproduce.source import Source
from tsveil.reproduce.verdicts import Ours

#: our figures: row -> column -> figure
Rows = Mapping[Row, Mapping[str, float]]


@dataclass(frozen=True)
class Experiment:
    """One published table, or the statements about one figure, made again."""

    #: of the table: paper and number
    name: str
    #: the definitions that are used: which variant, which ties, what is known
    how: str
    run: Callable[[Source], Rows]
    #: files of the data folder; none: it needs only what comes with the package
    needs: tuple[str, ...] = ()

    @property
    def table(self) -> Table:
        """The published table."""
        return printed_tables()[self.name]

    def figures(self, source: Source) -> Ours:
        """Our figures by cell."""
        return {(row, column): value for row, cells in self.run(source).items() for column, value in cells.items()}


def row_keys(table: str) -> Iterator[Row]:
    """The rows of a published table, which say what is to be computed."""
    yield from printed_tables()[table].rows
