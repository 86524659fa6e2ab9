"""Robots: policies that run and learn over ROS, and Gazebo.

| module | what it is |
|---|---|
| `config` | robot.toml: topics, joints, the state, the actions, what is safe |
| `config_keys` | what its keys may hold, and pydantic's errors as messages of this library |
| `config_checks`, `config_topics` | keys that depend on others |
| `transport` | the small interface to a robot |
| `rospy_transport`, `rclpy_transport`, `dds_transport` | ROS 1, ROS 2, and DDS, the network protocol under ROS 2 |
| `message_fields`, `message_codec` | numbers of any message by their path; conversion of messages to values |
| `state_reader`, `commands` | from messages to a state, from an action to messages |
| `control` | from a state to an action, or to the safe one and a reason |
| `network_watch` | warnings about publishers and subscribers that are not connected, and about two commanding nodes |
| `node`, `robot_exploration` | a policy that runs, an agent that learns |
| `recording`, `recorded_messages` | every decision in a bag or MCAP file, and back to Transitions |
| `simulator` | the swing-up as a robot in a separate process |
| `gazebo` | the same in Gazebo, in a separate Debian |

May import: `_support`, `data`, `forest`, `environments`, `policy`, `learning`, `exploration`, `baselines`, `report`,
`export`, `certification`.
"""
