"""The ROS 2 package policyforest_ros: its programs are the commands of policyforest, under ``ros2 run``."""

from glob import glob

from setuptools import setup

NAME = "policyforest_ros"

setup(
    name=NAME,
    version="0.1.0",
    packages=[NAME],
    data_files=[
        ("share/ament_index/resource_index/packages", [f"resource/{NAME}"]),
        (f"share/{NAME}", ["package.xml"]),
        (f"share/{NAME}/launch", glob("launch/*.launch.py")),
    ],
    install_requires=["setuptools"],
    zip_safe=True,
    description="Runs and learns PolicyForest controllers on ROS 2 robots.",
    license="MIT",
    entry_points={
        "console_scripts": [f"{command} = {NAME}:{command}" for command in ("run", "explore", "simulate")],
    },
)
