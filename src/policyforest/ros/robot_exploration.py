"""Learning on the robot: an agent explores through the robot's topics, and plans while the robot is brought back.

Everything that was learned is in the run directory: a run that was killed, or whose robot was lost, can be resumed and
plays the unfinished episode again.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
from gymnasium.spaces import Box

from policyforest._support.arguments import Floats, whole_number
from policyforest.data.known_functions import UnjudgedStepError
from policyforest.exploration import ExploringAgent, Problem
from policyforest.exploration.episode_report import EpisodeCallback
from policyforest.ros.config import EpisodeSettings, RobotConfig
from policyforest.ros.control import Decision
from policyforest.ros.network_watch import NetworkWatch
from policyforest.ros.recording import Recording
from policyforest.ros.reward import Judge
from policyforest.ros.robot_episode import Robot
from policyforest.ros.transport import Transport


def robot_problem(config: RobotConfig) -> Problem:
    """The problem of an agent on the robot of a configuration. States outside of their limits are terminal, so the
    observations are unbounded."""
    n_state = len(config.state)
    observations = Box(-np.inf, np.inf, (n_state,), np.float64)
    return Problem.of_spaces(observations, config.action_space, config.state_limits, config.periodic)


def require_episodes(config: RobotConfig) -> EpisodeSettings:
    """The settings for learning; raises a ValueError if the configuration has none."""
    if config.episode is None:
        raise ValueError("[episode]: is missing in the configuration, learning needs its reward and its reset")
    return config.episode


class RobotExploration:
    """Drives an agent through a robot's topics.

    Args:
        patience: The number of consecutive attempts to repeat an episode after the robot was lost, before the run gives
            up.
    """

    def __init__(
        self,
        agent: ExploringAgent,
        config: RobotConfig,
        transport: Transport,
        *,
        recording: Recording | None = None,
        warn: Callable[[str], None] = lambda line: None,
        patience: int = 5,
    ) -> None:
        self._agent, self._config, self._transport = agent, config, transport
        self._episode = require_episodes(config)
        self._judge = Judge(config, self._episode)
        self._robot = Robot(config, self._episode, transport)
        self._recording, self._warn, self._patience = recording, warn, patience

    def learn(self, episodes: int, callback: EpisodeCallback | None = None) -> None:
        """Explores until the run has this many episodes in total; the callback may end it by returning False."""
        whole_number("episodes", episodes, at_least=1)
        agent, failures = self._agent, 0
        network = NetworkWatch(self._config, self._transport, self._warn)
        try:
            self._robot.wait_until_heard(self._episode.reset_timeout)
            network.start()
            while agent.n_episodes < episodes:
                try:
                    self._play()
                    failures = 0
                except UnjudgedStepError:
                    self._cut()
                    raise
                except (ConnectionError, TimeoutError) as error:
                    failures += 1
                    self._abandon()
                    if failures > self._patience:
                        raise
                    self._warn(f"episode {agent.n_episodes + 1} is played again: {error}")
                    time.sleep(min(failures, 5) * self._config.max_age)
                    continue
                if callback is not None and callback(agent.log[-1]) is False:
                    break
        except BaseException:
            self._abandon()
            raise
        finally:
            network.stop()
        agent.wait()
        self._robot.rest()

    def _play(self) -> None:
        """One episode. The robot is brought back while the agent plans what comes next."""
        agent, robot = self._agent, self._robot
        robot.wait_until_active()
        robot.rest()
        state = robot.bring_back()
        agent.wait()
        if agent.n_episodes and not self._episode.lock_step:
            state = robot.state()  # planning may have taken longer than bringing the robot back
        agent.begin_episode()
        robot.begin()
        terminal, reward = False, 0.0
        for _ in range(agent.max_steps or self._episode.steps):
            action = agent.act(state)
            stamp = self._transport.now()
            self._record(state, action, stamp)
            after = robot.step(action, stamp)
            reward, terminal = self._judged(state, action, after)
            agent.observe(action, reward, after, terminal)
            state = after
            if terminal:
                break
        robot.rest()
        if self._recording is not None:
            self._recording.end_episode(state, reward, terminal)
        agent.end_episode(background=True)

    def _record(self, state: Floats, action: Floats, stamp: float) -> None:
        if self._recording is not None:
            newest = self._robot.newest
            self._recording.decision(Decision(time.monotonic(), action, state, "", newest.first, newest.others, stamp))

    def _judged(self, state: Floats, action: Floats, after: Floats) -> tuple[float, bool]:
        try:
            return self._judge(state, action, after)
        except ValueError as error:
            raise UnjudgedStepError(f"episode.reward, episode.terminal: {error}") from error

    def _cut(self) -> None:
        """Keeps the steps of the unfinished episode before the one without a reward."""
        self._robot.rest()
        if self._recording is not None:
            self._recording.end_episode()
        self._agent.cut_episode()

    def _abandon(self) -> None:
        """Forgets the unfinished episode, and leaves the robot with its safe action."""
        self._agent.abandon_episode()
        self._robot.rest()
        if self._recording is not None:
            self._recording.end_episode()
