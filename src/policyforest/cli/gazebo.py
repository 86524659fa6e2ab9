"""``policyforest gazebo setup | start | stop | status | remove``: Gazebo in a separate Debian."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import Annotated

import typer

from policyforest._support.arguments import one_of
from policyforest.cli.examples import epilog
from policyforest.cli.once import Once
from policyforest.cli.output import Json, note, print_json, print_pairs
from policyforest.ros.gazebo.server import ENGINES, Server, stop_all
from policyforest.ros.gazebo.setup import Installation, default_folder

gazebo = typer.Typer(
    name="gazebo",
    help="Set up, start and stop Gazebo 11. Optional; needs Debian and root.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

Folder = Annotated[
    Path | None,
    typer.Option(
        "--dir",
        help="The folder of Gazebo.  [default: $POLICYFOREST_GAZEBO, or policyforest/gazebo in the cache]",
    ),
]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask for confirmation.")]


@gazebo.command(cls=Once, epilog=epilog("gazebo setup"))
def setup(
    dir: Folder = None,
    mirror: Annotated[
        str | None, typer.Option(help="A mirror of Debian that has 'bullseye'.  [default: the mirror of apt]")
    ] = None,
    yes: Yes = False,
    json: Json = False,
) -> None:
    """Install Debian 11, Gazebo and our plugin in a folder. Run it again to resume."""
    installation = Installation(dir or default_folder(), mirror)
    missing = [stage for stage in installation.stages() if not installation.done(stage)]
    if missing:
        what = ", ".join(stage.text for stage in missing)
        _ask(f"Set up {what} in {installation.folder}? All of it takes about 11 minutes and 2.8 GB.", yes)
    installation.set_up(note if json else print_line, _live)
    done = [stage.name for stage in missing]
    text = f"Gazebo is ready: policyforest gazebo start --dir {installation.folder}"
    _answer(json, text, folder=str(installation.folder), set_up=done, ready=installation.ready)


@gazebo.command(cls=Once, epilog=epilog("gazebo start"))
def start(
    dir: Folder = None,
    engine: Annotated[
        str, typer.Option(help=f"{' or '.join(ENGINES)}; DART's runs are repeatable bit for bit.")
    ] = ENGINES[0],
    ros_port: Annotated[
        int, typer.Option(help="Port of the ROS master; a running master is used.", min=1, max=65_535)
    ] = 11311,
    gazebo_port: Annotated[int, typer.Option(help="Port of Gazebo's own master.", min=1, max=65_535)] = 11345,
    json: Json = False,
) -> None:
    """Start the swing-up in Gazebo, and a ROS master if none is running.

    Returns when the simulator is ready."""
    one_of("--engine", engine, ENGINES)
    server = Server(Installation(dir or default_folder()))
    uri = server.start(engine, ros_port, gazebo_port)
    text = f"Gazebo runs; in every shell that uses it: export ROS_MASTER_URI={uri} ROS_IP=127.0.0.1"
    _answer(json, text, master_uri=uri, running={name: r.pid for name, r in server.running().items()})


@gazebo.command(cls=Once, epilog=epilog("gazebo stop"))
def stop(dir: Folder = None, json: Json = False) -> None:
    """Stop the processes that `start` started."""
    stopped = Server(Installation(dir or default_folder())).stop()
    text = f"stopped {' and '.join(stopped)}" if stopped else "nothing was running"
    _answer(json, text, stopped=list(stopped))


@gazebo.command(cls=Once, epilog=epilog("gazebo status"))
def status(dir: Folder = None, json: Json = False) -> None:
    """Show the stages of the set-up and the running processes."""
    installation = Installation(dir or default_folder())
    server = Server(installation)
    stages = {stage.name: installation.done(stage) for stage in installation.stages()}
    found = {"folder": str(installation.folder), "stages": stages, "ready": installation.ready}
    found |= {"running": {name: r.pid for name, r in server.running().items()}, "master_uri": server.master_uri}
    if json:
        print_json(found)
        return
    running = ", ".join(f"{name} (pid {r.pid})" for name, r in server.running().items())
    missing = ", ".join(name for name, done in stages.items() if not done)
    lines = {"set up": f"no, missing: {missing}" if missing else "yes", "running": running or "nothing"}
    print_pairs(f"Gazebo in {installation.folder}", lines)


@gazebo.command(cls=Once, epilog=epilog("gazebo remove"))
def remove(dir: Folder = None, yes: Yes = False, json: Json = False) -> None:
    """Remove everything: running processes, mounts, and the folder."""
    installation = Installation(dir or default_folder())
    installation.require_removable()
    _ask(f"Remove {installation.folder}?", yes)
    stop_all(installation)
    installation.remove()
    _answer(json, f"removed {installation.folder}", removed=str(installation.folder))


def _answer(json: bool, text: str, **content: object) -> None:
    """What a command did: a line for people, or JSON."""
    if json:
        _live("")
        print_json(content)
    else:
        print_line(text)


def print_line(text: str) -> None:
    _live("")
    print(text, flush=True)


def _live(line: str) -> None:
    """Shows the latest line of a command, overwritten by the next; only on a terminal."""
    if sys.stderr.isatty():
        width = shutil.get_terminal_size().columns - 1
        print(f"\r{line[:width]:<{width}}\r", end="", file=sys.stderr, flush=True)


def _ask(question: str, yes: bool) -> None:
    if yes:
        return
    if not sys.stdin.isatty():
        raise ValueError("--yes: is missing, must be given if there is no terminal to ask for confirmation")
    typer.confirm(question, abort=True)
