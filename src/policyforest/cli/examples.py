"""The text that is printed without a command, and the examples and exit codes in the text of ``--help``."""

TO_TRY = (
    "policyforest learn inverted-pendulum-6kg --episodes 100 -o pendulum.pforest",
    "policyforest evaluate pendulum.pforest inverted-pendulum-6kg",
    "policyforest export pendulum.pforest --to c -o pendulum",
)

EXAMPLES = {
    "learn": (
        "policyforest learn inverted-pendulum-6kg --episodes 100 -o pendulum.pforest",
        "policyforest learn double-integrator --preset paper --method fpf-pwc",
        "policyforest learn inverted-pendulum-6kg --baseline pendulum.pforest -o better.pforest",
        "policyforest learn --data 'runs/*.csv' --state theta,omega --action torque --reward '-(theta**2)'",
        "policyforest learn --data minari:D4RL/pointmaze/umaze-v2 --discount 0.99 -o maze.pforest",
    ),
    "data": (
        "policyforest data 'runs/*.csv' --describe --state theta,omega --action torque --time t",
        "policyforest data log.csv --state x,v --action u --reward '-(x**2) - 0.1*u**2' --terminal 'abs(x) > 1'",
        "policyforest data run.mcap --state 'q=/joint_states.position[hinge]' --action u=/cmd.data --period 0.1",
        "policyforest data log.csv --on-error skip -o samples.npz",
    ),
    "explore": (
        "policyforest explore swing-up --episodes 100 -o swing.pforest",
        "policyforest explore swing-up --agent disagreement --episodes 60 --policies 5",
    ),
    "evaluate": (
        "policyforest evaluate pendulum.pforest inverted-pendulum-6kg",
        "policyforest evaluate pendulum.pforest inverted-pendulum-6kg --episodes 200 --json",
    ),
    "show": (
        "policyforest show pendulum.pforest",
        "policyforest show pendulum.pforest --no-picture --explain '0.1, 0.2'",
    ),
    "export": (
        "policyforest export pendulum.pforest --to c --precision float32 -o pendulum",
        "policyforest export pendulum.pforest --distil 200 -o small",
        "policyforest export pendulum.pforest --to onnx -o pendulum.onnx",
    ),
    "certify": (
        "policyforest certify pendulum.pforest --problem inverted-pendulum-6kg --disturbance 10",
        "policyforest certify pendulum.pforest --data 'runs/*.csv' --box '-0.5:0.5, -1.5:1.5' -o pendulum.pfcert",
        "policyforest certify pendulum.pforest --check pendulum.pfcert --problem inverted-pendulum-6kg",
    ),
    "bench": ("policyforest bench --policy pendulum.pforest",),
    "reproduce": ("policyforest reproduce --list", "policyforest reproduce all --scale quick --out results"),
    "doctor": ("policyforest doctor", "policyforest doctor --json"),
    "ros run": (
        "policyforest ros run swing-up.pforest --config robot.toml",
        "policyforest ros run swing-up.pforest --config robot.toml --seconds 10 --record run.mcap",
        "policyforest ros run --ros-args -p policy:=swing-up.pforest -p config:=robot.toml",
    ),
    "ros explore": (
        "policyforest ros explore --config robot.toml --run-dir run --episodes 100",
        "policyforest ros explore --config robot.toml --run-dir run --agent disagreement -o swing-up.pforest",
    ),
    "ros simulate": (
        "policyforest ros simulate --lock-step",
        "policyforest ros simulate --rate 100 --transport ros2",
    ),
    "ros read": (
        "policyforest ros read run.mcap -o run.npz",
        "policyforest ros read run.mcap --config robot.toml -o run.parquet",
    ),
    "gazebo setup": (
        "policyforest gazebo setup",
        "policyforest gazebo setup --dir gazebo --yes",
    ),
    "gazebo start": (
        "policyforest gazebo start",
        "policyforest gazebo start --engine ode --ros-port 11312 --gazebo-port 11346",
    ),
    "gazebo stop": ("policyforest gazebo stop",),
    "gazebo status": ("policyforest gazebo status", "policyforest gazebo status --json"),
    "gazebo remove": ("policyforest gazebo remove", "policyforest gazebo remove --dir gazebo --yes"),
}

EXIT_CODES = {
    0: "done",
    1: "done, but a check failed (`doctor`, `certify`), or the output went to a pipe that was closed",
    2: "an argument, an option, a file or the environment is wrong; one line on standard error names it",
    3: "an error in PolicyForest itself; run again with --debug and report it",
    130: "interrupted by Ctrl-C",
}


def epilog(command: str) -> str | None:
    """The examples of a command, each on its own line (``\\b`` keeps them apart)."""
    if command not in EXAMPLES:
        return None
    return "\b\nExamples:\n" + "\n".join(f"  {line}" for line in EXAMPLES[command])


def welcome(commands: list[str]) -> str:
    """What the command prints without arguments."""
    lines = "\n".join(f"  {line}" for line in TO_TRY)
    return (
        "PolicyForest learns continuous controllers from few samples, and runs them in a microsecond.\n\n"
        f"Three commands to try: learn to balance a pole, test the policy, write it as C.\n\n{lines}\n\n"
        f"Commands: {', '.join(commands)}\nHelp:     policyforest --help, policyforest COMMAND --help"
    )


def exit_codes() -> str:
    return "\b\nExit codes:\n" + "\n".join(f"  {code:>3}  {meaning}" for code, meaning in EXIT_CODES.items())
