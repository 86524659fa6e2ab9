"""The files around the code: the version, the workflows and the script of the checks."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from importlib.metadata import metadata, version
from pathlib import Path

import pytest
import yaml

import policyforest as pf

ROOT = Path(__file__).parents[1]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())


def test_the_version_is_decided_by_tags_alone() -> None:
    assert "version" in PROJECT["project"]["dynamic"]
    assert "version" not in PROJECT["project"]
    assert pf.__version__ == version("policyforest")


def test_before_the_first_tag_the_version_sorts_before_the_first_release(tmp_path: Path) -> None:
    pytest.importorskip("setuptools_scm", reason="a tool of builds alone")
    shutil.copy(ROOT / "pyproject.toml", tmp_path)

    def version_after(*command: str) -> str:
        outside = {name: value for name, value in os.environ.items() if not name.startswith(("GIT_", "SETUPTOOLS_SCM"))}
        author = {f"GIT_{who}_{what}": "a@b" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
        options = {"cwd": tmp_path, "env": outside | author, "check": True, "capture_output": True, "text": True}
        subprocess.run(["git", *command], **options)
        return subprocess.run([sys.executable, "-m", "setuptools_scm"], **options).stdout.strip().partition("+")[0]

    version_after("init", "-q")
    version_after("add", ".")
    assert version_after("commit", "-q", "-m", "1") == "0.1.0.dev1"
    assert version_after("tag", "v0.1.0") == "0.1.0"
    assert version_after("commit", "-q", "-m", "2", "--allow-empty") == "0.1.1.dev1"


def test_the_files_of_the_ros_2_package_have_one_version() -> None:
    package, setup = ((ROOT / "ros2" / name).read_text() for name in ("package.xml", "setup.py"))
    assert re.findall(r"<version>(.*)</version>", package) == re.findall(r'version="(.*)"', setup) != []


def test_lint_and_commits_format_the_core_with_one_version() -> None:
    hooks = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text())["repos"]
    (committed,) = (hook["rev"] for hook in hooks if hook["repo"].endswith("clang-format"))
    assert f"clang-format=={committed.removeprefix('v')}" in PROJECT["project"]["optional-dependencies"]["test"]


def test_lint_checks_every_python_file() -> None:
    (checked,) = re.findall(r"^PYTHON_FILES := (.*)$", (ROOT / "Makefile").read_text(), re.MULTILINE)
    listed = subprocess.run(["git", "ls-files", "*.py"], cwd=ROOT, capture_output=True, text=True, check=False)
    if listed.returncode:
        pytest.skip("the sources are not in a git repository")
    assert [
        path for path in listed.stdout.split() if not any(Path(path).is_relative_to(f) for f in checked.split())
    ] == []


def test_pictures_and_links_of_the_readme_work_on_a_package_index() -> None:
    shown = str(metadata("policyforest").get_payload())
    targets = re.findall(r"\]\(([^)#]+)\)", shown)
    assert "# PolicyForest" in shown
    assert len(targets) > 30
    assert all(target.startswith("https://") for target in targets)
    pictures = [target for target in targets if target.endswith((".gif", ".png"))]
    for address in pictures:
        assert (ROOT / address.split("/main/")[1]).is_file(), address
        assert "/raw." in address or "//raw." in address
    assert pictures


def test_the_project_has_addresses_and_classifiers_for_each_python() -> None:
    assert {"Homepage", "Documentation", "Repository", "Issues", "Changelog"} <= PROJECT["project"]["urls"].keys()
    for minor in (11, 12, 13, 14):
        assert f"Programming Language :: Python :: 3.{minor}" in PROJECT["project"]["classifiers"]


def test_wheels_are_built_for_three_systems_and_two_architectures() -> None:
    settings = PROJECT["tool"]["cibuildwheel"]
    assert [len(settings[system]["archs"]) for system in ("linux", "macos", "windows")] == [2, 2, 2]
    built = yaml.safe_load((ROOT / ".github" / "workflows" / "wheels.yml").read_text())
    machines = built["jobs"]["wheels"]["strategy"]["matrix"]["include"]
    assert {machine["os"].split("-")[0] for machine in machines} == {"ubuntu", "macos", "windows"}
    assert len(machines) == 6


def test_tests_run_on_three_systems_and_four_versions_of_python() -> None:
    matrix = yaml.safe_load((ROOT / ".github" / "workflows" / "tests.yml").read_text())["jobs"]["tests"]["strategy"][
        "matrix"
    ]
    assert [name.split("-")[0] for name in matrix["os"]] == ["ubuntu", "macos", "windows"]
    assert matrix["python"] == ["3.11", "3.12", "3.13", "3.14"]


@pytest.mark.parametrize("workflow", WORKFLOWS, ids=lambda path: path.stem)
def test_a_workflow_calls_targets_that_exist_and_actions_by_their_commit(workflow: Path) -> None:
    text, makefile = workflow.read_text(), (ROOT / "Makefile").read_text()
    for target in re.findall(r"run: make ([\w-]+)", text):
        assert re.search(rf"^{target}:", makefile, re.MULTILINE), target
    for action in re.findall(r"uses: (?!\./)(\S+)", text):
        assert re.search(r"@[0-9a-f]{40}$", action), action


def checks(folder: Path, *, tests: bool, tools: bool) -> tuple[int, list[str]]:
    """Runs `.ci/run` where every part is a stub, and gives its exit code and its last lines."""
    (folder / ".ci").mkdir(parents=True)
    shutil.copy(ROOT / ".ci" / "run", folder / ".ci" / "run")
    for script, works in (
        ("install_browser.sh", True),
        ("embedded/install_tools.sh", True),
        ("ros1/install_tools.sh", tools),
    ):
        path = folder / "tests" / script
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"#!/bin/sh\nexit {0 if works else 1}\n")
        path.chmod(0o755)
    stubs = "docs test-embedded test-ros test-ray .venv/.installed-ray:\n\t@true\n"
    (folder / "Makefile").write_text(f"{stubs}test:\n\t@{'true' if tests else 'false'}\n")
    outside = {name: value for name, value in os.environ.items() if not name.startswith(("MAKE", "MFLAGS"))}
    done = subprocess.run([".ci/run"], cwd=folder, capture_output=True, text=True, check=False, env=outside)
    return done.returncode, done.stdout.strip().splitlines()


def test_the_checks_end_with_one_line_per_part(tmp_path: Path) -> None:
    code, lines = checks(tmp_path, tests=True, tools=True)
    assert code == 0
    assert [line.split()[0] for line in lines if not line.startswith("not run ")] == ["passed"] * 5


def test_the_checks_list_what_they_never_run(tmp_path: Path) -> None:
    """Each target of tests is run or listed; test-cpp and test-python are parts of `make test`."""
    targets = set(re.findall(r"^(test-[\w-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    _, lines = checks(tmp_path, tests=True, tools=True)
    listed = {target for line in lines if line.startswith("not run ") for target in re.findall(r"test-[\w-]+", line)}
    run = set(re.findall(r"make (test-[\w-]+)$", (ROOT / ".ci" / "run").read_text(), re.MULTILINE))
    assert listed | run == targets - {"test-cpp", "test-python"}
    assert listed & run == set()


def test_a_part_that_cannot_run_is_named_with_the_reason(tmp_path: Path) -> None:
    code, lines = checks(tmp_path, tests=True, tools=False)
    assert code == 0
    assert "not run  ROS network: ROS packages could not be installed" in lines


def test_a_part_that_fails_does_not_hide_the_others(tmp_path: Path) -> None:
    code, lines = checks(tmp_path, tests=False, tools=True)
    assert code == 1
    assert [line.split()[0] for line in lines[:5]] == ["failed", "passed", "passed", "passed", "passed"]


def test_pictures_beside_text_in_the_readme_leave_room_for_it_on_a_phone() -> None:
    pictures = re.findall(r"<img [^>]*align=[^>]*>", (ROOT / "README.md").read_text(encoding="utf-8"))
    widths = [re.search(r'width="(\d+)%"', picture) for picture in pictures]
    assert pictures
    assert all(width and int(width[1]) <= 40 for width in widths), pictures


def test_paths_of_the_machine_that_built_a_wheel_are_found(tmp_path: Path) -> None:
    place = importlib.util.spec_from_file_location("wheel_tool", ROOT / "tools" / "test_wheel.py")
    assert place is not None
    assert place.loader is not None
    tool = importlib.util.module_from_spec(place)
    place.loader.exec_module(tool)
    wheel = tmp_path / "policyforest-1-cp312-abi3-linux_x86_64.whl"
    address = b"\0see https://numpy.org/devdocs/user/importing.html\0core/src/forest.cpp\0"
    for module, expected in ((address, []), (address + b"/root/include/list.h\0", ["/root/include/list.h"])):
        with zipfile.ZipFile(wheel, "w") as parts:
            parts.writestr("policyforest/_core.abi3.so", b"\x7fELF" + module)
        assert tool.build_paths(wheel) == expected
