"""Arguments and options that several commands share, each declared once, and what their values become."""

from __future__ import annotations

import csv
import shlex
import shutil
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import click
from click.core import ParameterSource

from tsveil.assess.limits import RUNGS
from tsveil.core.errors import InputError, OutputError
from tsveil.core.registry import starting

Command = TypeVar("Command", bound=Callable[..., Any])

PATH = click.Path(path_type=Path)


class PlanPath(click.Path):
    """A plan; data are none."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The path, unless it is that of data."""
        path = Path(str(super().convert(value, param, ctx)))
        if path.is_dir() or (path.suffix != ".toml" and path.is_file() and not _is_toml(path)):
            name = shlex.quote(str(path))
            raise InputError(
                f"{path} is no plan, and this command takes one\n  options: tsveil plan {name} writes a plan for these data; tsveil protect {name} --out FOLDER does without"
            )
        return path


def _is_toml(path: Path) -> bool:
    """Whether a file can be read as TOML, or cannot be read at all, which is said elsewhere."""
    import tomllib

    try:
        tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError:
        return True
    except (ValueError, RecursionError):
        return False
    return True


class _File(click.Path):
    """Data: a file, a folder or a pattern; or - for what comes from standard input, which is kept in a file while the command runs. A plan is none."""

    name = "file"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if str(value) != STDIN:
            path = Path(str(super().convert(value, param, ctx)))
            if path.suffix == ".toml" and path.is_file():
                raise InputError(
                    f"{path} is a plan, and this command takes data\n  options: tsveil run {shlex.quote(str(path))}, or the file that the plan names as its input"
                )
            return path
        assert ctx is not None
        place = Path(ctx.with_resource(tempfile.TemporaryDirectory(prefix="tsveil-"))) / "stdin"
        with place.open("wb") as kept:
            shutil.copyfileobj(sys.stdin.buffer, kept)
        return place


#: the name of standard input
STDIN = "-"
FILE = _File(path_type=Path)
PLAN = PlanPath(path_type=Path)


def is_stdin(file: Path) -> bool:
    """Whether a file holds what came from standard input."""
    return file.name == "stdin" and file.parent.name.startswith("tsveil-")


def refuse_stdin(file: Path, what: str) -> None:
    """What is read again later cannot come from standard input."""
    if is_stdin(file):
        raise InputError(
            f"{what} reads its file again, which standard input does not allow\n  options: save it to a file first"
        )


#: the options of reading that change a table
CHANGING = {"leave_out", "transpose", "missing", "resample", "split"}

#: name in `tsveil.read` and in plans -> the option; what is not given is guessed
READING: dict[str, Callable[[Any], Any]] = {
    "layout": click.option(
        "--layout", type=click.Choice(["wide", "long"]), help="A row per record, or a row per record and time."
    ),
    "id": click.option(
        "--id",
        multiple=True,
        metavar="COLUMN",
        help="The identifier, replaced by a random one; several make one together.",
    ),
    "blocks": click.option(
        "--block", "blocks", multiple=True, metavar="NAME=FIRST..LAST|COL,COL", help="Columns protected together."
    ),
    "confidential": click.option(
        "--confidential", multiple=True, metavar="COLUMN", help="Carried unchanged; may be given several times."
    ),
    "person": click.option(
        "--person", multiple=True, metavar="COLUMN", help="Says whose record it is, if a person may have several."
    ),
    "leave_out": click.option("--leave-out", multiple=True, metavar="COLUMN", help="Left out of the release."),
    "numbers": click.option(
        "--number", "numbers", multiple=True, metavar="COLUMN", help="A quantity, although it looks like a code."
    ),
    "nominal": click.option(
        "--nominal", multiple=True, metavar="COLUMN", help="Holds labels without an order; may be given several times."
    ),
    "ordinal": click.option(
        "--ordinal",
        multiple=True,
        metavar="COLUMN[=LOW,..,HIGH]",
        help="Holds labels in this order; of numbers in theirs.",
    ),
    "hierarchy": click.option(
        "--hierarchy",
        multiple=True,
        metavar="COLUMN=FILE",
        help="Holds labels of a tree: in each line of a CSV file a label and its ancestors.",
    ),
    "independent_rows": click.option(
        "--independent-rows", is_flag=True, help="Each row is a person of its own, although an identifier repeats."
    ),
    "transpose": click.option(
        "--transpose/--no-transpose", default=None, help="The rows are times and the columns persons, or not."
    ),
    "time": click.option(
        "--time",
        multiple=True,
        metavar="COLUMN",
        help="Long layout: the time; two columns if date and time stand apart.",
    ),
    "time_format": click.option(
        "--time-format",
        metavar="FORM",
        help="How times are written: month-first, day-first, year-first, month-year, month-day, epoch-s, epoch-ms, or a pattern such as %d.%m.%y.",
    ),
    "variable": click.option("--variable", metavar="COLUMN", help="Long layout: which series a row belongs to."),
    "value": click.option(
        "--value", multiple=True, metavar="COLUMN", help="Long layout: the value, or one column per series."
    ),
    "separator": click.option("--separator", metavar="CHAR", help="Between the cells of a CSV file."),
    "decimal": click.option("--decimal", type=click.Choice([".", ","]), help="The decimal mark of a CSV file."),
    "header": click.option(
        "--header/--no-header", default=None, help="The first line holds the names of the columns, or is a record."
    ),
    "sheet": click.option("--sheet", metavar="NAME", help="The sheet of a workbook."),
    "table": click.option("--table", metavar="NAME", help="The table of a database."),
    "query": click.option("--query", metavar="SQL", help="What a SELECT finds in a database."),
    "missing": click.option(
        "--missing",
        type=click.Choice(["refuse", "drop", "interpolate", "mask"]),
        help="What to do with gaps: mask protects records with them.",
    ),
    "resample": click.option(
        "--resample", type=click.IntRange(min=2), metavar="M", help="Resample every series to M points."
    ),
    "split": click.option(
        "--split", type=click.IntRange(min=2), metavar="I", help="Cut each series into I shorter ones."
    ),
}


json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
quiet_option = click.option("--quiet", is_flag=True, help="Print nothing but errors; the exit code says the rest.")
intruder_option = click.option(
    "--intruder", type=click.Choice(RUNGS), help="What the intruder knows; the plan says it by default."
)
method_option = click.option("--method", "name", default=starting(), show_default=True, help="See `tsveil methods`.")
other_period_option = click.option(
    "--other-period",
    type=PATH,
    metavar="FILE",
    help="Series: values of the same persons at times that are not published, with the same identifiers.",
)
truth_option = click.option(
    "--truth", metavar="FILE", help="Links ids: CSV with the columns original, released; or the word id for equal ids."
)


def reading_options(command: Command) -> Command:
    """How a file is read."""
    for option in reversed(READING.values()):
        command = option(command)
    return command


def file_options(command: Command) -> Command:
    """How a file is read that is judged as it stands: nothing that would change its table."""
    for name, option in reversed(READING.items()):
        if name not in CHANGING:
            command = option(command)
    return command


def overwrite_option(what: str) -> Callable[[Command], Command]:
    """Whether a file or folder may be replaced."""
    return click.option("--overwrite", is_flag=True, help=f"Replace {what}.")


def writing_options(command: Command) -> Command:
    """What may happen to the folder of a release."""
    command = click.option("--strict", is_flag=True, help="Treat warnings of the verdict like failures.")(command)
    command = click.option("--allow-unverified", is_flag=True, hidden=True)(
        command
    )  # as --allow promise, for one version
    command = click.option(
        "--allow", multiple=True, metavar="CHECK", help="Write the release although this check did not pass."
    )(command)
    command = intruder_option(command)
    command = click.option(
        "--secret", type=PATH, callback=_secret, metavar="FILE", help="Repeat a release: its private/secret.txt."
    )(command)
    return overwrite_option("an earlier release in that folder")(command)


def continuing_options(command: Command) -> Command:
    """What a release continues, and how."""
    command = click.option("--regroup", is_flag=True, help="With --after: new groups and identifiers for everybody.")(
        command
    )
    command = click.option(
        "--ids",
        type=click.Choice(["fresh", "stable"]),
        help="With --after: new identifiers, or the same ones as long as a group stays the same.",
    )(command)
    return click.option(
        "--after", type=PATH, metavar="FOLDER", help="The release of the same persons that this one continues."
    )(command)


def _secret(context: click.Context, option: click.Parameter, path: Path | None) -> str | None:
    """The secret that stands in a file."""
    if path is None:
        return None
    try:
        found = path.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(
            f"the secret cannot be read from {path}: {getattr(error, 'strerror', None) or error}"
        ) from error
    if not found:
        raise InputError(f"there is no secret in {path}: the file is empty")
    return found


def reading(options: dict[str, Any]) -> dict[str, Any]:
    """The reading options that were given, as `tsveil.read` and the plan's input take them; they are taken out of `options`."""
    given = {name: options.pop(name) for name in READING if name in options}
    given["blocks"] = dict(map(_block, given["blocks"]))
    for several in ("confidential", "person", "leave_out", "numbers"):
        given[several] = [name for text in given.get(several, ()) for name in next(csv.reader([text]), [text])]
    given["categories"] = _categories(*(given.pop(kind, ()) for kind in ("nominal", "ordinal", "hierarchy")))
    for one_or_several in ("id", "time", "value"):
        names = given[one_or_several]
        given[one_or_several] = list(names) if len(names) > 1 else (names or (None,))[0]
    return {
        name: value for name, value in given.items() if value or (name in ("transpose", "header") and value is False)
    }


def names(text: str) -> list[str]:
    """Names with commas between them."""
    return text.split(",")


def numbers(text: str) -> list[int]:
    """Whole numbers of at least 1 with commas between them."""
    parts = text.split(",")
    if not all(part.strip().isdecimal() and int(part) for part in parts):
        raise click.BadParameter(f"{text!r} is no list of numbers such as 1,2,4")
    return [int(part) for part in parts]


def by_default(name: str) -> bool:
    """Whether an option of the present command was left to its default."""
    return click.get_current_context().get_parameter_source(name) is ParameterSource.DEFAULT


def reading_again() -> str:
    """The reading options of the present command as they were typed, for the next one."""
    context = click.get_current_context()
    words: list[str] = []
    for option in context.command.params:
        if option.name in READING and context.get_parameter_source(option.name) is ParameterSource.COMMANDLINE:
            value = context.params[option.name]
            if isinstance(value, bool):
                words.append(option.opts[0] if value else option.secondary_opts[0])
            else:
                for one in value if isinstance(value, tuple) else (value,):
                    words += [option.opts[0], shlex.quote(str(one))]
    return "".join(f" {word}" for word in words)


def _block(text: str) -> tuple[str, Any]:
    name, equals, columns = text.partition("=")
    if not equals or not name or not columns:
        raise InputError(f"--block {text!r} must look like NAME=FIRST..LAST or NAME=COLUMN,COLUMN")
    first, dots, last = columns.partition("..")
    return name, ({"from": first, "to": last} if dots else columns.split(","))


def _categories(nominal: Sequence[str], ordinal: Sequence[str], hierarchy: Sequence[str]) -> dict[str, Any]:
    """The columns of labels, as `tsveil.read` takes them."""
    found: dict[str, Any] = {name: "nominal" for text in nominal for name in next(csv.reader([text]), [text])}
    for text in ordinal:
        name, equals, labels = text.partition("=")
        found[name] = next(csv.reader([labels])) if equals and labels else "ordinal"
    for text in hierarchy:
        name, equals, path = text.partition("=")
        if not equals or not name or not path:
            raise InputError(f"--hierarchy {text!r} must look like COLUMN=FILE")
        found[name] = {"hierarchy": str(Path(path).absolute())}
    return found


def method_parameters(arguments: list[str]) -> dict[str, str]:
    """The options that `protect` does not know are the method's: --k 7 or --k=7."""
    found: dict[str, str] = {}
    rest = list(arguments)
    while rest:
        word = rest.pop(0)
        if not word.startswith("--"):
            raise InputError(f"{word!r} is not expected here; a method's parameters are given as --name value")
        name, equals, value = word[2:].partition("=")
        if not equals:
            if not rest:
                raise InputError(f"--{name} needs a value")
            value = rest.pop(0)
        found[name.replace("-", "_")] = value
    return found


def whole_numbers(option: str, text: str, example: str, *, any_count: bool = False) -> tuple[int, ...]:
    """The numbers of an option such as 7,10,10; as many as in the example unless any count will do."""
    parts = [part.strip() for part in text.split(",")]
    as_many = any_count or len(parts) == example.count(",") + 1
    if not as_many or not all(part.isdigit() for part in parts):
        raise InputError(f"{option} must look like {example}. Got {text!r}.")
    return tuple(int(part) for part in parts)


def check_new(*files: Path, overwrite: bool) -> None:
    """Refuse to replace files unless --overwrite was given, and folders in any case, before the work."""
    if folders := [str(file) for file in files if file.is_dir()]:
        raise OutputError(f"{', '.join(folders)} is a folder\n  options: the name of a file in it")
    if present := [str(file) for file in files if file.exists() and not overwrite]:
        raise OutputError(f"{', '.join(present)} exists already\n  options: another file, or --overwrite")


def check_page(out: Path | None, overwrite: bool, *endings: str) -> None:
    """Refuse a page that could not be written, before the work."""
    if out is None:
        return
    if out.suffix not in endings:
        page = out if out.name.strip(".") else out / "report"
        examples = " or ".join(str(page.with_suffix(ending)) for ending in endings)
        raise OutputError(f"--out {out} must be a page, for example {examples}")
    check_new(out, overwrite=overwrite)
