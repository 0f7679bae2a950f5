"""The files by which the repository is used: workflows, templates, hooks and citation are valid and speak of what there is."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

import tsveil

ROOT = Path(__file__).resolve().parents[1]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
FORMS = sorted(path for path in (ROOT / ".github" / "ISSUE_TEMPLATE").glob("*.yml") if path.stem != "config")
#: schemas that check-jsonschema brings along, and what they are held against
SCHEMAS = {
    "vendor.github-workflows": WORKFLOWS,
    "vendor.github-issue-forms": FORMS,
    "vendor.github-issue-config": [ROOT / ".github" / "ISSUE_TEMPLATE" / "config.yml"],
    "vendor.dependabot": [ROOT / ".github" / "dependabot.yml"],
    "vendor.citation-file-format": [ROOT / "CITATION.cff"],
}


def checked(schema: str, *files: Path) -> subprocess.CompletedProcess[str]:
    program = Path(sys.executable).with_name("check-jsonschema")
    return subprocess.run([program, "--builtin-schema", schema, *files], capture_output=True, text=True)


@pytest.mark.parametrize("schema", SCHEMAS)
def test_files_fit_their_schema(schema: str) -> None:
    assert SCHEMAS[schema]
    done = checked(schema, *SCHEMAS[schema])
    assert done.returncode == 0, done.stdout


def test_a_workflow_with_a_fault_would_be_found(tmp_path: Path) -> None:
    (tmp_path / "ci.yml").write_text(WORKFLOWS[0].read_text().replace("runs-on:", "run-on:", 1))
    assert checked("vendor.github-workflows", tmp_path / "ci.yml").returncode != 0


def workflow() -> dict[Any, Any]:
    found: dict[Any, Any] = yaml.safe_load((ROOT / ".github" / "workflows" / "ci.yml").read_text())
    return found


def test_workflows_run_what_there_is() -> None:
    targets = set(re.findall(r"^\.PHONY: (.*)$", (ROOT / "Makefile").read_text(), flags=re.MULTILINE)[0].split())
    steps = [step["run"] for job in workflow()["jobs"].values() for step in job["steps"] if "run" in step]
    assert any(".ci/run" in step for step in steps)
    for step in steps:
        assert set(re.findall(r"make ([\w-]+)", step)) <= targets
        for name in re.findall(r"\.ci/\w+", step):
            assert (ROOT / name).stat().st_mode & 0o100, name


def test_every_python_that_is_declared_is_tried() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    declared = {one.rpartition(" ")[2] for one in project["classifiers"] if re.search(r":: 3\.\d+$", one)}
    assert set(workflow()["jobs"]["all"]["strategy"]["matrix"]["python"]) == declared
    assert project["requires-python"] == f">={min(declared, key=lambda one: int(one.split('.')[1]))}"


def test_hooks_call_programs_of_the_environment() -> None:
    hooks = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text())["repos"]
    assert [repo["repo"] for repo in hooks] == ["local"]
    for hook in hooks[0]["hooks"]:
        program = hook["entry"].split()[0]
        assert program.startswith(".venv/bin/")
        assert Path(sys.executable).with_name(Path(program).name).exists(), program


def test_versions_are_the_same_everywhere() -> None:
    assert yaml.safe_load((ROOT / "CITATION.cff").read_text())["version"] == tsveil.__version__
    assert tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"] == tsveil.__version__
    heads = re.findall(r"^## \[(.+?)\]", (ROOT / "CHANGELOG.md").read_text(), flags=re.MULTILINE)
    assert heads[:2] == ["Unreleased", tsveil.__version__]


def test_the_image_is_made_of_lines_that_make_wheel_runs() -> None:
    """A RUN line that is continued, or an instruction in another case, would be passed over by tools/wheel.py."""
    lines = (ROOT / "Dockerfile").read_text().splitlines()
    instructions = [line.split()[0] for line in lines if line and not line.startswith("#")]
    assert set(instructions) == {"FROM", "ARG", "ENV", "COPY", "RUN", "WORKDIR", "USER", "ENTRYPOINT"}
    assert "RUN tsveil warm --quiet" in lines
    assert not any(line.endswith("\\") for line in lines)
