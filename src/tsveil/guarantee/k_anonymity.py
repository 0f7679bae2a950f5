"""k-anonymity: every published row of values is shared by at least k records, or by records of at least k persons.

The scope says which values make a row: all columns of a block ("block", each block by itself), all columns of the record
("record"), or every single column by itself ("column"). Values are compared by their bits, as they will be written: -0.0 and
0.0 print differently, so they are different values to whoever reads the file. Where records with gaps were published (`missing="mask"`) an empty cell is a value of its own: rows are alike only if
they are empty at the same points.

Where several records may belong to one person, k records hide nobody if they are all theirs. `counts="persons"` asks for k different persons in every class, which leaves k
candidates; `counts="share"` also bounds how often a guess at a record is right: nobody has more than 1/k of the records of a class.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from tsveil.core.params import at_least, one_of, param
from tsveil.guarantee.base import Counted, Status, Verdict
from tsveil.guarantee.chunks import Schema
from tsveil.guarantee.counting import Counts, Table, row_list

Scope = Literal["block", "record", "column"]
#: the scopes of promises about values
SCOPES = one_of("block", "record", "column")
#: tables with groups that are too small which are spelled out
SHOWN = 5


@dataclass(frozen=True)
class KAnonymity(Counted):
    """Every published row of values is shared by at least k records.

    Examples
    --------
    >>> import tsveil as tv
    >>> published = tv.Dataset.from_arrays({"load": [[1.5, 2.0], [1.5, 2.0], [9.0, 9.0]]})
    >>> print(KAnonymity(2).verify(published))
    VIOLATED: 2-anonymity: in each block, every published row of values is shared by at least 2 records.
      block 'load': 1 record shares its values with fewer than 2 records; the smallest group has 1 (row 3)
    """

    name: ClassVar[str] = "k-anonymity"
    plain: ClassVar[str] = "every record looks like at least k - 1 others"
    summary: ClassVar[str] = "every published row of values is shared by at least k records"
    reference: ClassVar[str] = "Samarati 2001; Sweeney 2002"
    option: ClassVar[str] = "k"
    takes_gaps: ClassVar[bool] = True

    k: int = param(5, at_least(1), "fewest records that share a row of values")
    scope: Scope = param("block", SCOPES, "the columns that make a row: each block, the whole record, or each column")
    #: not a parameter: how many blocks the data have, which only the words on its limits need
    blocks: int = 1
    counts: Literal["records", "persons", "share"] = param(
        "records",
        one_of("records", "persons", "share"),
        "what a class needs k of: records, or different persons; share: and nobody has more than 1/k of its records",
    )

    @property
    def words(self) -> str:
        """The promise."""
        where = {
            "block": "in each block, every published row of values",
            "record": "every published record, with all its series and attributes,",
            "column": "in each column by itself, every published value",
        }[self.scope]
        what = {
            "records": f"at least {self.k} records.",
            "persons": f"records of at least {self.k} different persons.",
            "share": f"records of at least {self.k} different persons, where nobody has more than 1/{self.k} of them.",
        }[self.counts]
        return f"{self.k}-anonymity: {where} is shared by {what}"

    @property
    def short(self) -> str:
        """For tables."""
        return f"{self.k}-anonymity {'' if self.counts == 'records' else 'of persons '}per {self.scope}"

    @property
    def limits(self) -> str:
        """Per block or per column the promise does not extend to several of them together."""
        if self.scope == "record" or (self.scope == "block" and self.blocks == 1):
            return (
                f"It bounds linking by the published values at 1 in {self.k}. It says nothing about confidential columns: if all "
                "members of a group share a confidential value, that value is disclosed."
            )
        return (
            f"The promise holds for each {self.scope} by itself. An intruder who knows several {self.scope}s of a person can combine "
            "them, and then fewer records remain; the linkage attacks measure that."
        )

    @property
    def intruder(self) -> str:
        """Of whole records it bounds what anybody finds, of blocks and columns only what who knows one of them finds."""
        return "file" if self.scope == "record" or (self.scope == "block" and self.blocks == 1) else "part"

    @property
    def bound(self) -> str:
        """One of k."""
        return f"1/{self.k}"

    @property
    def tile(self) -> tuple[str, str]:
        """The size of the smallest group."""
        return "Smallest group", f"k = {self.k}"

    def tables(self, schema: Schema) -> list[Table]:
        """One per block, one per column, or one for whole records."""
        if self.scope == "record":
            return [Table("whole records", schema.columns)]
        if self.scope == "block":
            return [Table(f"block {block.name!r}", block.columns) for block in schema.blocks]
        return [Table(f"column {name!r}", (name,)) for name in schema.columns]

    def judge(self, counts: Counts) -> Verdict:
        """Every class needs k records, or persons; the smallest ones that have fewer are the witnesses."""
        if self.counts != "records":
            return self._judge_persons(counts)
        smallest = counts.n
        witnesses: list[str] = []
        for number, table in enumerate(counts.tables):
            if table.inside is not None:
                continue
            size, _ = counts.classes(number)
            least = int(size.min(initial=counts.n))
            smallest = min(smallest, least)
            few = int(size[size < self.k].sum())
            if few and len(witnesses) < SHOWN:
                verb = "record shares its" if few == 1 else "records share their"
                witnesses.append(
                    f"{table.name}: {few} {verb} values with fewer than {self.k} records; the smallest group has "
                    f"{least} ({row_list(*counts.members(number, size == least))})"
                )
        return self.verdict(witnesses, [f"the smallest group has {smallest} records"])

    def _judge_persons(self, counts: Counts) -> Verdict:
        """Every class needs k persons, and none of them may have too large a share of its records."""
        if counts.chunks.persons is None:
            why = "a published file does not say whose records are whose"
            return Verdict(Status.UNKNOWN, self.words, f"{why}: the id map in private/ does (--persons MAP)")
        fewest, top = counts.n, 0.0
        witnesses: list[str] = []
        for number, table in enumerate(counts.tables):
            found = counts.persons(number)
            if table.inside is not None or found is None:
                continue
            persons, largest = found
            fewest, top = min(fewest, int(persons.min(initial=counts.n))), max(top, float(largest.max(initial=0.0)))
            for wrong, why in (
                (persons < self.k, f"records of fewer than {self.k} persons"),
                # Shares are quotients of small whole numbers: 1/k itself is no violation, whatever its last bit.
                (largest > (1 + 1e-12) / self.k, f"a person with more than 1/{self.k} of the records"),
            )[: 2 if self.counts == "share" else 1]:
                if wrong.any() and len(witnesses) < SHOWN:
                    rows = row_list(*counts.members(number, wrong))
                    witnesses.append(f"{table.name}: {int(wrong.sum())} classes have {why} ({rows})")
        return self.verdict(
            witnesses,
            [f"the fewest persons in a class are {fewest}", f"the largest share of one person is {100 * top:.1f} %"],
        )
