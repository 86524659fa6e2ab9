"""Robots: policies that run and learn over ROS, and Gazebo.

| module | what it is |
|---|---|
| `config` | robot.toml: topics, joints, the state, the actions, what is safe |
| `config_keys`, `config_checks` | what its keys may hold, pydantic's errors in our words; keys that depend on others |
| `transport` | the small interface to a robot; `rospy_transport`: ROS 1, `dds_transport`: ROS 2's wire, experimental |
| `control` | from a message to an action, or to the safe one and a reason |
| `node`, `robot_exploration` | a policy that runs, an agent that learns |
| `recording` | every decision in a bag or MCAP file, and back to Transitions |
| `simulator` | the swing-up as a robot of its own process |
| `gazebo` | the same in Gazebo, in a Debian of its own |

May import: `_support`, `data`, `forest`, `environments`, `policy`, `learning`, `exploration`, `baselines`, `report`,
`export`, `certification`.
"""
