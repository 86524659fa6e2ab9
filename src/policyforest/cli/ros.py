"""``policyforest ros run | explore | simulate | read``: robots over ROS."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer

from policyforest._support.arguments import one_of, real_number
from policyforest.cli.episode_table import EpisodeTable
from policyforest.cli.examples import epilog
from policyforest.cli.explore_report import about_plans, goal_line
from policyforest.cli.folders import run_dir_named, run_dir_option
from policyforest.cli.once import Once
from policyforest.cli.output import Jobs, Json, Seed, count_option, note, number_of, print_json, print_pairs
from policyforest.cli.output_files import require_output
from policyforest.cli.policy_argument import read_policy
from policyforest.cli.ros_arguments import OnceWithRosArguments, require_ros2, ros_arguments
from policyforest.exploration import AGENTS
from policyforest.policy.policy_files import SUFFIX

ros = typer.Typer(
    name="ros",
    help="Run and learn policies on a robot over ROS, and read recordings.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

Config = Annotated[Path, typer.Option("--config", "-c", help="A TOML file with the robot's topics and joints.")]
RecordFile = Annotated[
    Path | None, typer.Option(help="Record every decision in a new file: .bag (ROS 1) or .mcap.", metavar="FILE")
]
Seconds = Annotated[float | None, typer.Option(help="Stop after this many seconds.  [default: run until Ctrl-C]")]


NodePolicy = Annotated[
    Path | None, typer.Argument(help="A policy file, .pforest.  [default: the node's parameter `policy`]")
]
NODE_CONFIG = "A TOML file with the robot's topics and joints.  [default: the node's parameter `config`]"
NodeConfig = Annotated[Path | None, typer.Option("--config", "-c", help=NODE_CONFIG)]


@ros.command(cls=OnceWithRosArguments, epilog=epilog("ros run"))
def run(
    context: typer.Context,
    policy: NodePolicy = None,
    config: NodeConfig = None,
    record: RecordFile = None,
    seconds: Seconds = None,
    json: Json = False,
) -> None:
    """Run POLICY on a robot, until Ctrl-C. The last message is the safe action."""
    from policyforest.ros.config import load_config
    from policyforest.ros.control import require_fit
    from policyforest.ros.node import Node

    arguments = ros_arguments(context)
    policy, config = _files_of_node(policy, config, arguments)
    robot, law = load_config(config), read_policy(policy)
    require_fit(law, robot)
    _require_seconds(seconds)
    parameters = {"policy": str(policy), "config": str(config)}
    with _network(robot, arguments, parameters) as transport, _recording(record, robot) as log:
        node = Node(law, robot, transport, log=log, warn=note)
        with _on_signals(_beside(node.stop)):
            report = node.run(seconds).as_dict()
    if json:
        print_json(report)
        return
    lines = {
        "decisions": f"{report['decisions']:,}, {report['safe']:,} of them the safe action",
        "state to action": f"median {report['median_ms']:.3f} ms, worst {report['worst_ms']:.3f} ms",
    }
    print_pairs(f"Ran {policy.name} on {robot.name}", lines if record is None else lines | {"recorded": record})


@ros.command(cls=OnceWithRosArguments, epilog=epilog("ros explore"))
def explore(
    context: typer.Context,
    config: Config,
    run_dir: Annotated[Path, run_dir_option("Keep every finished episode in this folder; an existing run is resumed.")],
    episodes: Annotated[int, count_option("Total episodes of the run, including those of a resumed run.")] = 100,
    agent: Annotated[
        str, typer.Option(help="The explorer: mre (the paper's), plan and disagreement (ours), …")
    ] = "mre",
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Learn a policy at the end, and save it here.")
    ] = None,
    policies: Annotated[int, count_option("Policies to learn for --output; the best is kept.")] = 10,
    record: RecordFile = None,
    seed: Seed = 0,
    jobs: Jobs = -1,
    json: Json = False,
) -> None:
    """Learn on a robot from scratch.

    Explores, plans while the robot returns to its start, and keeps every episode."""
    from policyforest.ros.config import load_config
    from policyforest.ros.robot_agent import robot_agent

    one_of("--agent", agent, AGENTS)
    if output is not None:
        require_output("--output", output, SUFFIX)
    robot = load_config(config)
    with run_dir_named():
        explorer = robot_agent(agent, robot, run_dir, seed, jobs)
    if explorer.n_episodes and not json:
        note(f"{run_dir} holds {number_of(explorer.n_episodes, 'episode')}; the run is resumed")
    table = EpisodeTable(json, None, explorer.log)
    _explore_robot(explorer, robot, ros_arguments(context), episodes, record, table)
    if output is not None:
        explorer.best_policy(policies).save(output)
    if json:
        print_json(_exploration_report(agent, explorer, run_dir, output))
        return
    print_pairs(f"Explored {robot.name} with {agent}", _explored_lines(explorer, run_dir, output))


def _explored_lines(explorer: Any, run_dir: Path, output: Path | None) -> dict[str, Any]:
    """The results of a run, for people."""
    pairs: dict[str, Any] = {"samples": f"{explorer.total_steps:,} in {number_of(explorer.n_episodes, 'episode')}"}
    pairs["kept in"] = run_dir
    if explorer.settings().get("reward") is not None:
        pairs["known"] = "reward and ends, by the formulas of the configuration"
    pairs |= goal_line(about_plans(explorer) | {"coverage": explorer.log[-1].coverage})
    return pairs if output is None else pairs | {"policy": output}


@ros.command(cls=OnceWithRosArguments, epilog=epilog("ros simulate"))
def simulate(
    context: typer.Context,
    transport: Annotated[str, typer.Option(help="ros1, ros2 or dds.")] = "ros1",
    rate: Annotated[float, typer.Option(help="States per second.", min=0.1, max=10_000.0)] = 10.0,
    lock_step: Annotated[bool, typer.Option("--lock-step", help="Wait for a torque before each step.")] = False,
    seconds: Seconds = None,
    json: Json = False,
) -> None:
    """Simulate the swing-up as a robot, until Ctrl-C.

    Publishes the joint 'pivot' on /pendulum/joint_states, and takes torques in Nm."""
    from policyforest.ros.simulator import SimulatedPendulum
    from policyforest.ros.transport import open_transport

    kind: Any = one_of("--transport", transport, ("ros1", "ros2", "dds"))
    _require_seconds(seconds)
    arguments = ros_arguments(context)
    require_ros2(kind, arguments)
    network, stop = open_transport(kind, "pendulum", arguments=arguments), threading.Event()
    if seconds is not None:
        threading.Timer(seconds, stop.set).start()
    try:
        pendulum = SimulatedPendulum(network, services=kind != "dds")
        with _on_signals(_beside(stop.set)):
            pendulum.run_in_lock_step(stop) if lock_step else pendulum.run(rate, stop)
    finally:
        with _on_signals(lambda: None):
            network.close()
    if json:
        print_json({"transport": kind, "lock_step": lock_step, "simulated_seconds": pendulum.time})


@ros.command(cls=Once, epilog=epilog("ros read"))
def read(
    recording: Annotated[Path, typer.Argument(help="A file of `ros run --record` or `ros explore --record`.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="Where to save the transitions: .npz or .parquet.")],
    config: Annotated[
        Path | None,
        typer.Option("--config", "-c", help="Use the reward of this file, not the recorded reward."),
    ] = None,
    json: Json = False,
) -> None:
    """Convert a recording to transitions, for `learn --data`."""
    from policyforest.ros.config import load_config
    from policyforest.ros.recording_reader import read_recording
    from policyforest.ros.reward import Judge
    from policyforest.ros.robot_exploration import require_episodes

    require_output("--output", output, ".npz", ".parquet")
    robot = None if config is None else load_config(config)
    samples = read_recording(recording, None if robot is None else Judge(robot, require_episodes(robot)))
    samples.save(output)
    if json:
        print_json({"samples": len(samples), "episodes": samples.n_episodes, "output": str(output)})
        return
    print_pairs(f"Read {recording}", {"transitions": samples, "saved": output})


def _explore_robot(
    explorer: Any,
    config: Any,
    arguments: list[str],
    episodes: int,
    record: Path | None,
    callback: Callable[[Any], None],
) -> None:
    """Plays the remaining episodes of the run; the run directory is closed even after an error."""
    from policyforest.ros.robot_exploration import RobotExploration

    try:
        with _network(config, arguments) as transport, _recording(record, config) as log, _on_signals(_interrupt):
            RobotExploration(explorer, config, transport, recording=log, warn=note).learn(episodes, callback)
    finally:
        if explorer.run is not None:
            explorer.run.close()


def _exploration_report(agent: str, explorer: Any, run_dir: Path, output: Path | None) -> dict[str, Any]:
    report: dict[str, Any] = {
        "agent": agent,
        "episodes": explorer.n_episodes,
        "samples": explorer.total_steps,
        "returns": [episode.episode_return for episode in explorer.log],
        "reward": explorer.settings().get("reward"),
        "run": str(run_dir),
        **about_plans(explorer),
    }
    return report if output is None else report | {"policy": str(output)}


@contextmanager
def _network(config: Any, arguments: list[str], parameters: dict[str, str] | None = None) -> Iterator[Any]:
    from policyforest.ros.transport import open_transport

    require_ros2(config.transport, arguments)
    options = {"qos": config.qos_by_topic, "arguments": arguments, "lifecycle": config.lifecycle}
    transport = open_transport(config.transport, config.name, parameters=parameters or {}, **options)
    try:
        yield transport
    finally:
        with _on_signals(lambda: None):  # a second Ctrl-C must not cut off what was published last
            time.sleep(0.1)
            transport.close()


def _files_of_node(policy: Path | None, config: Path | None, arguments: list[str]) -> tuple[Path, Path]:
    """The files of the policy and the configuration, from the arguments or the parameters of a ROS 2 node."""
    given = {"policy": policy, "config": config}
    missing = [name for name, path in given.items() if path is None]
    found: dict[str, str] = {}
    if missing and arguments:
        from policyforest.ros.rclpy_transport import read_parameters

        found = read_parameters(missing, arguments)
    files = {name: path or (Path(found[name]) if found.get(name) else None) for name, path in given.items()}
    for name, path in files.items():
        if path is None:
            argument = "POLICY" if name == "policy" else "--config"
            raise ValueError(f"{argument}: is missing; give it, or `--ros-args -p {name}:=FILE` with ROS 2")
    return Path(str(files["policy"])), Path(str(files["config"]))


@contextmanager
def _recording(path: Path | None, config: Any) -> Iterator[Any]:
    if path is None:
        yield None
        return
    from policyforest.ros.recording import Recording

    recording = Recording(path, config, warn=note)
    try:
        yield recording
    finally:
        recording.close()


@contextmanager
def _on_signals(stop: Callable[[], None]) -> Iterator[None]:
    """Makes Ctrl-C and SIGTERM end the block in an orderly way."""
    kinds = (signal.SIGINT, signal.SIGTERM)
    before = [signal.signal(kind, lambda number, frame: stop()) for kind in kinds]
    try:
        yield
    finally:
        for kind, handler in zip(kinds, before, strict=True):
            signal.signal(kind, handler)


def _beside(stop: Callable[[], None]) -> Callable[[], None]:
    """Calls `stop` in another thread: the code that a signal interrupts may hold the lock that `stop` needs, and the
    robot would never get its safe action."""
    return lambda: threading.Thread(target=stop).start()


def _require_seconds(seconds: float | None) -> None:
    if seconds is not None:
        real_number("--seconds", seconds, at_least=0.0)


def _interrupt() -> None:
    raise KeyboardInterrupt
