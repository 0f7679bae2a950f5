"""What the app knows: a private folder with a folder per study, and a private place for the data while the server runs.

    folder/ID/study.json      the name, the roles, the methods and limits that were chosen; written by the server
    folder/ID/look.json       what is in the file                         \
    folder/ID/risk.json       the risk of publishing it as it is           | written by jobs
    folder/ID/sweep/          everything that was tried                    |
    folder/ID/releases/KEY/   a release, its reports, curves, and the plan /

Studies are found by their id in a table made from the folder at the start: no path is ever made from what a client sends. The data
themselves are not in the folder: uploads lie in a temporary one and are removed at the end, so what was found outlives the server and the
data do not. A server that was killed could not remove its uploads; the next one does, which knows them by their lock.
"""

from __future__ import annotations

import contextlib
import os
import re
import secrets
import shutil
import tempfile
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

import msgspec

from tsveil.core.errors import InputError, OutputError
from tsveil.core.randomness import fresh_seed
from tsveil.data.disk import make_and_lock, remove, remove_unless_in_use, unlock
from tsveil.data.write import write_text
from tsveil.release.ledger import Ids

Source = Literal["upload", "demo", "file"]
#: of `look.json`: what an earlier version of tsveil saw in a file has not all that the pages show
LOOK_VERSION = 2
#: how the folders of uploads begin
UPLOADS = "tsveil-web-"


class Limits(msgspec.Struct, kw_only=True):
    """What a release may risk and lose, in percent."""

    max_risk: float | None = 10.0
    max_loss: float | None = None
    #: only what has a promise that was verified
    verified: bool = True


class Study(msgspec.Struct, kw_only=True):
    """A file on its way to a release, as far as it was decided by a person."""

    id: str
    name: str
    source: Source
    created: str
    #: how the plan calls the input: the name of an upload, the path of a file given at the start
    path: str
    #: the roles of the columns, as a plan's input has them; empty: guessed
    input: dict[str, Any] = {}
    #: the person looked at the roles and said yes
    confirmed: bool = False
    #: method -> parameter -> values to try
    methods: dict[str, dict[str, list[Any]]] = {}
    #: configurations that were added one by one: method, and parameter -> its value in a list
    added: list[tuple[str, dict[str, list[Any]]]] = []
    limits: Limits = msgspec.field(default_factory=Limits)
    title: str = ""
    #: what only a person knows of the release: the section [context] of its plan
    context: dict[str, str] = {}
    #: the folder of the release that this one continues, and how (`[output]` of a plan); empty: it continues none
    after: str = ""
    ids: Ids = "fresh"
    regroup: bool = False
    #: a secret that makes the downloaded plan repeat the release exactly; as text, because JSON readers round large numbers
    seed: str = ""
    #: the configuration that was chosen
    picked: str = ""

    @property
    def tried(self) -> dict[str, Any]:
        """Everything to try, as a sweep takes it: method -> its grid, or a list of grids.

        Examples
        --------
        >>> study = Study(id="", name="", source="demo", created="", path="", methods={"mdav": {"k": [3, 5]}}, added=[("mdav", {"k": [7]}), ("noise", {})])
        >>> study.tried
        {'mdav': [{'k': [3, 5]}, {'k': [7]}], 'noise': [{}]}
        """
        found: dict[str, Any] = dict(self.methods)
        for method in dict.fromkeys(name for name, _ in self.added):
            own = [grid for name, grid in self.added if name == method]
            found[method] = [*([self.methods[method]] if method in self.methods else []), *own]
        return found


class Studies:
    """All studies of a folder."""

    def __init__(self, folder: Path) -> None:
        try:
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            os.chmod(folder, 0o700)
            folder.joinpath(".gitignore").write_text("*\n")
        except OSError as error:
            raise OutputError(f"{folder} cannot be used for studies: {error.strerror or error}") from error
        self.folder = folder.resolve()
        self._data, self._lock = make_and_lock(lambda: Path(tempfile.mkdtemp(prefix=UPLOADS)))
        for left in self._data.parent.glob(f"{UPLOADS}*"):
            with contextlib.suppress(OSError):  # another server removed its own meanwhile
                if left.is_dir() and not left.is_symlink() and left.stat().st_uid == self._data.stat().st_uid:
                    remove_unless_in_use(left)
        self._known: dict[str, Study] = {}
        for place in sorted(self.folder.iterdir()):
            found = place / "study.json"
            if re.fullmatch(r"[0-9a-f]{16}", place.name) and found.is_file():
                try:
                    study = msgspec.json.decode(found.read_bytes(), type=Study)
                except msgspec.MsgspecError:
                    continue  # not ours, or of another version
                if study.id == place.name:
                    self._known[study.id] = study
                    _forget_older_look(place / "look.json")
        self._sources: dict[str, Path] = {}
        #: study -> name in its plan -> file: what lies beside the data, the files of hierarchies
        self._beside: dict[str, dict[str, Path]] = {}

    def close(self) -> None:
        """Remove the uploads."""
        remove(self._data)
        unlock(self._lock)

    def all(self) -> list[Study]:
        """All studies, the newest first."""
        return sorted(self._known.values(), key=lambda study: study.created, reverse=True)

    def get(self, id: str) -> Study | None:
        """The study with this id."""
        return self._known.get(id)

    def upload_place(self) -> Path:
        """Where the next upload may be written."""
        return self._data / secrets.token_hex(8)

    def new(self, name: str, source: Source, data: Path, path: str, after: str = "") -> Study:
        """A new study of a file; `after` is the folder of the release that its own will continue."""
        study = Study(
            id=secrets.token_hex(8),
            name=name,
            source=source,
            created=datetime.now(UTC).isoformat(timespec="seconds"),
            path=path,
            after=after,
            seed=str(fresh_seed()),
        )
        self.place(study).mkdir(mode=0o700)
        self._known[study.id] = study
        self._sources[study.id] = data
        self.save(study)
        return study

    def place(self, study: Study) -> Path:
        """The folder of a study."""
        return self.folder / study.id

    def data(self, study: Study) -> Path | None:
        """The data of a study; None when they were removed with an earlier server."""
        return self._sources.get(study.id)

    def beside(self, study: Study) -> dict[str, Path]:
        """The files beside the data: name in the plan -> file."""
        return self._beside.get(study.id, {})

    def put_beside(self, study: Study, name: str, path: Path) -> None:
        """Take a file beside the data, in place of an earlier one of the same name."""
        earlier = self._beside.setdefault(study.id, {}).get(name)
        self._beside[study.id][name] = path
        if earlier is not None:
            earlier.unlink(missing_ok=True)

    def save(self, study: Study) -> None:
        """Keep what was decided."""
        write_text(self.place(study) / "study.json", msgspec.json.encode(study).decode())

    def read_result(self, study: Study, name: str) -> Any:
        """What a job wrote: the content of one of its JSON files, or None."""
        path = self.place(study) / name
        return msgspec.json.decode(path.read_bytes()) if path.is_file() else None

    def forget(self, study: Study, *names: str) -> None:
        """Remove what jobs wrote, because it was made for other choices."""
        if "releases" in names:
            self.check_not_continued(study)
        for name in names:
            path = self.place(study) / name
            if path.is_dir():
                shutil.rmtree(path)
            else:
                path.unlink(missing_ok=True)

    def check_not_continued(self, study: Study) -> None:
        """Refuse to lose a release that another one continues: without its ledger nothing can be said of both together."""
        place = self.place(study)
        for other in self._known.values():
            if other is not study and other.after and Path(other.after).is_relative_to(place):
                raise InputError(
                    f"{other.title or other.name} continues a release of this study, which would be removed\n"
                    "  options: a new study of the same file; or delete the one that continues it first"
                )

    def delete(self, study: Study) -> None:
        """Remove a study with everything that was found, and its upload."""
        self.check_not_continued(study)
        data = self._sources.pop(study.id, None)
        if data is not None and study.source != "file":
            data.unlink(missing_ok=True)
        for path in self._beside.pop(study.id, {}).values():
            path.unlink(missing_ok=True)
        del self._known[study.id]
        shutil.rmtree(self.place(study))


class _Version(msgspec.Struct):
    version: int = 1


def _forget_older_look(path: Path) -> None:
    """Remove what another version saw in a file: the file itself is gone, and what was found of it stays."""
    with contextlib.suppress(FileNotFoundError):
        try:
            version = msgspec.json.decode(path.read_bytes(), type=_Version).version
        except msgspec.MsgspecError:
            version = 0
        if version != LOOK_VERSION:
            path.unlink()
