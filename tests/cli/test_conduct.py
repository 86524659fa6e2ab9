"""How every command behaves: examples in its help, JSON, one line for an error, exit codes, completion, Ctrl-C."""

from __future__ import annotations

import os
import re
import shlex
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import typer.main
from typer.testing import CliRunner

import _policyforest_command
from policyforest.cli import main
from policyforest.cli.examples import EXAMPLES, EXIT_CODES
from policyforest.cli.output import one_line

ROOT = Path(__file__).parents[2]
GROUP = typer.main.get_command(main)
COMMANDS = sorted(command.callback.__name__ for command in main.registered_commands if command.callback is not None)
GROUPED = sorted(f"{group} {name}" for group in ("ros", "gazebo") for name in GROUP.commands[group].commands)  # type: ignore[attr-defined]
COMMAND = str(Path(sys.executable).with_name("policyforest"))


@pytest.mark.parametrize("name", COMMANDS)
def test_the_help_of_every_command_has_examples_that_can_be_parsed(name: str) -> None:
    shown = CliRunner().invoke(main, [name, "--help"], env={"COLUMNS": "200"}).stdout
    assert "--json" in shown
    command = GROUP.commands[name]  # type: ignore[attr-defined]
    for example in EXAMPLES[name]:
        assert example in shown
        program, subcommand, *arguments = shlex.split(example)
        assert (program, subcommand) == ("policyforest", name)
        command.make_context(name, [a for a in arguments if a != "--help"])


@pytest.mark.parametrize("name", GROUPED)
def test_the_help_of_every_command_of_a_group_has_examples_that_can_be_parsed(name: str) -> None:
    group, command = name.split()
    shown = CliRunner().invoke(main, [group, command, "--help"], env={"COLUMNS": "200"}).stdout
    assert "--json" in shown
    known = GROUP.commands[group].commands[command]  # type: ignore[attr-defined]
    for example in EXAMPLES[name]:
        assert example in shown
        assert shlex.split(example)[:3] == ["policyforest", group, command]
        known.make_context(name, shlex.split(example)[3:])


@pytest.mark.parametrize("group", [[], ["ros"], ["gazebo"]], ids=["policyforest", "ros", "gazebo"])
def test_the_lists_of_commands_are_not_cut_off(group: list[str]) -> None:
    shown = CliRunner().invoke(main, [*group, "--help"], env={"COLUMNS": "80"}).stdout
    listed = shown.partition("Commands:")[2].partition("Exit codes:")[0]
    assert len(listed.strip().splitlines()) >= 4
    assert "..." not in listed


def test_there_are_examples_for_commands_that_exist_alone() -> None:
    assert sorted(EXAMPLES) == sorted([*COMMANDS, *GROUPED])


def test_exit_codes_are_in_the_help_and_in_the_docs() -> None:
    shown = CliRunner().invoke(main, ["--help"]).stdout
    page = (ROOT / "docs" / "command_line.md").read_text()
    for code, meaning in EXIT_CODES.items():
        assert re.search(rf"^ +{code}  {re.escape(meaning[:30])}", shown, re.MULTILINE)
        assert f"| {code} | {meaning}" in page


@pytest.mark.parametrize("name", [*COMMANDS, "ros", "gazebo"])
def test_every_command_is_in_the_docs(name: str) -> None:
    assert f"`policyforest {name}" in (ROOT / "docs" / "command_line.md").read_text()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["learn", "--no-such-option"], "No such option: --no-such-option"),
        (["no-such-command"], "No such command 'no-such-command'"),
        (["learn", "double-integrator", "--episodes", "many"], "--episodes: is 'many', must be a valid integer"),
        (["show"], "Missing argument"),
        (["export", "x.pforest", "--to", "pdf"], "'pdf' is not one of 'c', 'onnx'"),
        (["--no-such-option"], "No such option"),
    ],
)
def test_wrong_usage_is_one_line(arguments: list[str], message: str) -> None:
    result = CliRunner().invoke(main, arguments)
    assert result.exit_code == 2
    assert message in result.stderr
    assert result.stderr.count("\n") == 1
    assert result.stderr.startswith("error: ")
    assert "--help" in result.stderr
    assert "Value error" not in result.stderr


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("explore swing-up --steps", "--steps: needs a value (see policyforest explore --help)"),
        ("learn swing-up -o", "-o: needs a value (see policyforest learn --help)"),
        ("show policy.pforest --dims 1", "--dims: needs 2 values (see policyforest show --help)"),
        ("learn swing-up --json=yes", "--json: takes no value (see policyforest learn --help)"),
        ("ros read --output", "--output: needs a value (see policyforest ros read --help)"),
    ],
)
def test_a_known_option_without_its_value_is_not_called_unknown(words: str, message: str) -> None:
    result = CliRunner().invoke(main, words.split(), prog_name="policyforest")
    assert (result.exit_code, result.stderr) == (2, f"error: {message}\n")


@pytest.mark.parametrize(
    "words", ["learn --epsiodes 3", "learn --episodes", "ros read --output", "ros read a b", "rso"]
)
def test_wrong_usage_names_the_command_that_has_the_help(words: str) -> None:
    result = CliRunner().invoke(main, words.split(), prog_name="policyforest")
    command = {"learn": " learn", "ros": " ros read"}.get(words.split()[0], "")
    assert result.stderr.endswith(f"(see policyforest{command} --help)\n")


def test_a_fault_of_ours_is_one_line_and_another_exit_code(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object, **__: object) -> None:
        raise KeyError("what")

    monkeypatch.setattr(sys.modules["policyforest.cli.data"], "read_log", broken)
    result = CliRunner().invoke(main, ["data", "x.csv"])
    assert result.exit_code == 3
    assert result.stderr.count("\n") == 1
    assert "--debug" in result.stderr
    debugged = CliRunner().invoke(main, ["--debug", "data", "x.csv"])
    assert debugged.exit_code == 3
    assert "Traceback" in debugged.stderr
    assert "in broken" in debugged.stderr


def test_debug_shows_where_an_error_arose_and_keeps_the_exit_code(tmp_path: Path) -> None:
    result = CliRunner().invoke(main, ["--debug", "data", str(tmp_path / "none.csv")])
    assert result.exit_code == 2
    assert "Traceback" in result.stderr
    assert result.stderr.splitlines()[-1].startswith("error: path: is")


def test_without_arguments_there_is_the_help() -> None:
    result = CliRunner().invoke(main, [])
    assert "Commands" in result.output
    assert "error:" not in result.output


def test_tab_completes_commands_and_options() -> None:
    for line, word, expected in (
        ("policyforest ex", "ex", "explore"),
        ("policyforest learn --epi", "--epi", "--episodes"),
    ):
        env = os.environ | {
            "_POLICYFOREST_COMPLETE": "complete_bash",
            "COMP_WORDS": line,
            "COMP_CWORD": str(len(line.split()) - 1),
        }
        shown = subprocess.run([COMMAND], env=env, capture_output=True, text=True, check=False).stdout
        assert expected in shown.split(), word


FORMS = {"command": [COMMAND], "module": ["-m", "policyforest"], "module-in-one-word": ["-mpolicyforest"]}


@pytest.mark.parametrize("imported", ["policyforest._core", "policyforest.policy.policy", "typer", "policyforest.cli"])
@pytest.mark.parametrize("form", FORMS)
def test_ctrl_c_while_starting_is_quiet(form: str, imported: str) -> None:
    """Python tells of each import on standard error. It writes much more than a pipe holds, so while no one reads on it
    waits: the interrupt always comes amid the imports, however slow or fast the machine is."""
    command = [sys.executable, "-v", *FORMS[form], "doctor"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    for line in process.stderr:
        if re.match(rf"import '{re.escape(imported)}'", line):
            break
    else:
        pytest.fail(f"the command did not import {imported}")
    process.send_signal(signal.SIGINT)
    shown, told = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "Traceback" not in told
    assert shown == ""


@pytest.mark.skipif(os.name != "posix", reason="ignored signals are inherited on Unix alone")
def test_interrupts_that_are_ignored_stay_ignored_while_starting() -> None:
    code = "import os, signal, _policyforest_command as c; c.start_quietly(); os.kill(os.getpid(), signal.SIGINT)"
    done = subprocess.run(["sh", "-c", 'trap "" INT; exec "$0" -c "$1"', sys.executable, code], check=False, timeout=60)
    assert done.returncode == 0


@pytest.mark.parametrize("arguments", [["-c", "import policyforest"], ["-m", "policyforest_user"]], ids=" ".join)
def test_importing_the_library_leaves_interrupts_to_the_program(arguments: list[str], tmp_path: Path) -> None:
    """A package that imports PolicyForest is itself imported while `python -m` looks for its module."""
    check = "import signal; assert signal.getsignal(signal.SIGINT) is signal.default_int_handler\n"
    package = tmp_path / "policyforest_user"
    package.mkdir()
    (package / "__init__.py").write_text(f"import policyforest\n{check}")
    (package / "__main__.py").write_text(check)
    arguments = [f"{argument}; {check}" if argument.startswith("import") else argument for argument in arguments]
    done = subprocess.run([sys.executable, *arguments], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def run_with_cli(folder: Path, code: str) -> tuple[int, str, str]:
    """Exit code, standard output and standard error of the command with another `policyforest.cli`."""
    (folder / "policyforest").mkdir()
    (folder / "policyforest" / "__init__.py").touch()
    (folder / "policyforest" / "cli.py").write_text(code)
    paths = os.pathsep.join([str(folder), str(Path(_policyforest_command.__file__).parents[1])])
    command = [sys.executable, "-S", "-c", "import _policyforest_command; _policyforest_command.main()"]
    env = os.environ | {"PYTHONPATH": paths}
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=False, timeout=60)
    return done.returncode, done.stdout, done.stderr


def test_ctrl_c_that_an_import_would_wrap_in_another_error_is_quiet(tmp_path: Path) -> None:
    """Python 3.11 makes a RuntimeError of what __set_name__ raises, an interrupt too."""
    code = (
        "import os, signal, time\n"
        "class Field:\n"
        "    def __set_name__(self, owner, name):\n"
        "        os.kill(os.getpid(), signal.SIGINT)\n"
        "        time.sleep(10)\n"
        "class Owner:\n"
        "    field = Field()\n"
    )
    assert run_with_cli(tmp_path, code) == (130, "", "")


@pytest.mark.skipif(os.name != "posix", reason="a process sends itself this signal on Unix alone")
@pytest.mark.parametrize("end", ["return", "raise KeyboardInterrupt", "raise SystemExit(0)"])
def test_ctrl_c_while_the_finished_program_waits_for_threads_is_quiet(end: str, tmp_path: Path) -> None:
    code = (
        "import os, signal, threading, time\n"
        "def interrupt():\n"
        "    time.sleep(0.5)\n"
        "    os.kill(os.getpid(), signal.SIGINT)\n"
        "    time.sleep(10)\n"
        "def main():\n"
        "    print('done')\n"
        "    threading.Thread(target=interrupt).start()\n"
        f"    {end}\n"
    )
    assert run_with_cli(tmp_path, code) == (130, "done\n", "")


def test_texts_of_strangers_are_printed_on_one_line() -> None:
    assert one_line("a\nb\x1b[31mc") == r"a\nb\x1b[31mc"
    assert len(one_line("x" * 10_000)) < 2_100
