"""Runs a policy on a robot.

``ros2 launch policyforest_ros run.launch.py policy:=swing-up.pforest config:=robot.toml``
"""

from launch import LaunchDescription
from launch.actions import DeclareLaunchArgument
from launch.substitutions import LaunchConfiguration
from launch_ros.actions import Node
from launch_ros.parameter_descriptions import ParameterValue

ARGUMENTS = {
    "policy": (None, "The policy, a .pforest file"),
    "config": (None, "The configuration of the robot's topics and joints, a TOML file"),
    "namespace": ("", "Namespace of the node and of its relative topics"),
    "use_sim_time": ("false", "Whether to take the time from /clock"),
}


def generate_launch_description():
    declared = [
        DeclareLaunchArgument(name, description=text, **({} if default is None else {"default_value": default}))
        for name, (default, text) in ARGUMENTS.items()
    ]
    parameters = {
        "policy": ParameterValue(LaunchConfiguration("policy"), value_type=str),
        "config": ParameterValue(LaunchConfiguration("config"), value_type=str),
        "use_sim_time": ParameterValue(LaunchConfiguration("use_sim_time"), value_type=bool),
    }
    node = Node(
        package="policyforest_ros",
        executable="run",
        namespace=LaunchConfiguration("namespace"),
        parameters=[parameters],
        output="screen",
    )
    return LaunchDescription([*declared, node])
