"""
The native core (C++20). Typed Python in the rest of the package wraps all of it.
"""

from collections.abc import Callable, Sequence
from typing import Annotated, Any

import numpy
import numpy.typing
from numpy.typing import NDArray

def simd_path() -> str: ...

class Forest:
    def __init__(
        self,
        feature: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
        split: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        child: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
        node_offsets: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        coefficients: Annotated[
            NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)
        ],
        box: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)],
    ) -> None: ...
    @property
    def n_trees(self) -> int: ...
    @property
    def n_inputs(self) -> int: ...
    @property
    def n_leaves(self) -> int: ...
    @property
    def linear(self) -> bool: ...
    @property
    def depths(self) -> list[int]: ...
    @property
    def box(self) -> NDArray[numpy.float64]: ...
    def arrays(self) -> dict[str, numpy.typing.NDArray[Any]]: ...
    def release_search(self) -> None: ...
    @property
    def predict_one(self) -> Callable[[numpy.typing.ArrayLike], float]: ...
    def predict(
        self,
        rows: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)],
        n_threads: int = 1,
    ) -> NDArray[numpy.float64]: ...
    def predict_plain(
        self, rows: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)]
    ) -> NDArray[numpy.float64]: ...

def grow_forest(
    columns: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)],
    y: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    score: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)] | None,
    weight: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)] | None,
    box: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)],
    grid: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)],
    period: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)],
    n_trees: int,
    max_features: int,
    min_samples_leaf: int,
    min_variance: float,
    linear: bool,
    seed: int,
    first_tree: int,
    n_threads: int,
) -> Forest: ...
def project(
    forest: Forest,
    x: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    fixed: Sequence[int],
) -> Forest: ...
def average(forest: Forest, weights: Sequence[float], max_leaves: int) -> Forest: ...
def prune(forest: Forest, max_leaves: int) -> Forest: ...
def select_trees(forest: Forest, numbers: Sequence[int]) -> Forest: ...
def join_forests(parts: Sequence[Forest]) -> Forest: ...
def near_order(
    rows: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)],
) -> Annotated[NDArray[numpy.uint32], dict(shape=(None,))]: ...
def line_search(
    forest: Forest,
    rows: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)],
    action_dim: int,
    n_threads: int,
) -> tuple[NDArray[numpy.float64], NDArray[numpy.float64], NDArray[numpy.float64], NDArray[numpy.float64]]: ...
def branch_and_bound(
    forest: Forest,
    rows: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)],
    is_action: Sequence[int],
    n_threads: int,
) -> tuple[NDArray[numpy.float64], NDArray[numpy.float64], NDArray[numpy.float64], NDArray[numpy.float64]]: ...
def merged_best_action(
    forest: Forest,
    rows: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)],
    is_action: Sequence[int],
    max_leaves: int,
    n_threads: int,
) -> tuple[NDArray[numpy.float64], NDArray[numpy.float64], NDArray[numpy.float64], NDArray[numpy.float64]]: ...

class StepProgram:
    def __init__(
        self,
        n_inputs: int,
        codes: Annotated[NDArray[numpy.int32], dict(shape=(None, 4), order="C", device="cpu", writable=False)],
        values: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        forests: Sequence[tuple[Forest, Sequence[int], Sequence[bool]]],
        outputs: Sequence[int],
    ) -> None: ...
    def run(
        self, rows: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)]
    ) -> NDArray[numpy.float64]: ...

class CertifiedPolicy:
    def __init__(
        self,
        precision: str,
        forests: Sequence[Forest],
        actions: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)],
        periods: Sequence[tuple[float, float]],
        cells: Sequence[tuple[float, float]],
        outputs: Sequence[tuple[float, float]],
    ) -> None: ...

class ClosedLoop:
    def __init__(
        self,
        policy: CertifiedPolicy,
        program: StepProgram,
        disturbance: Annotated[
            NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)
        ],
        model_error: Sequence[float],
        slack: Sequence[float],
        limits: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)],
        periods: Sequence[tuple[float, float]],
        steps: int = 1,
        sensors: StepProgram | None = None,
    ) -> None: ...
    def successors(
        self,
        cells: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)],
    ) -> NDArray[numpy.float64]: ...
    def action_ranges(
        self,
        cells: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)],
    ) -> NDArray[numpy.float64]: ...

class InvariantSearch:
    def __init__(
        self,
        loop: ClosedLoop,
        root: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)],
        target: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)]
        | None,
        smallest: Sequence[float],
        max_cells: int,
        horizon: int | None,
    ) -> None: ...
    def round(self, n_threads: int = 1) -> bool: ...
    def cells(self) -> tuple[NDArray[numpy.float64], NDArray[numpy.float64], NDArray[numpy.float64]]: ...
    @property
    def exhausted(self) -> bool: ...

class Controller:
    def __init__(
        self,
        forests: Sequence[Forest],
        action_box: Annotated[
            NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)
        ],
        period: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)],
    ) -> None: ...
    @property
    def n_states(self) -> int: ...
    @property
    def n_actions(self) -> int: ...
    @property
    def act(self) -> Callable[[numpy.typing.ArrayLike], NDArray[numpy.float64]]: ...
    def act_batch(
        self,
        states: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)],
    ) -> NDArray[numpy.float64]: ...

class Float32Controller:
    def __init__(
        self,
        forests: Sequence[Forest],
        action_box: Annotated[
            NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)
        ],
        period: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)],
    ) -> None: ...
    @property
    def act(self) -> Callable[[numpy.typing.ArrayLike], NDArray[numpy.float32]]: ...
    def act_batch(
        self,
        states: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order="C", device="cpu", writable=False)],
    ) -> NDArray[numpy.float32]: ...

class System:
    @property
    def n_state(self) -> int: ...
    @property
    def n_action(self) -> int: ...
    @property
    def n_noise(self) -> int: ...
    def step_many(
        self,
        states: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)],
        actions: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)],
        noise: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)],
    ) -> tuple[
        NDArray[numpy.float64], NDArray[numpy.float64], Annotated[NDArray[numpy.bool_], dict(shape=(None,))]
    ]: ...
    def play(
        self,
        controller: Controller,
        start: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        noise: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)],
    ) -> tuple[NDArray[numpy.float64], NDArray[numpy.float64], NDArray[numpy.float64], bool]: ...
    def replay(
        self,
        actions: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)],
        start: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        noise: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)],
    ) -> tuple[NDArray[numpy.float64], NDArray[numpy.float64], NDArray[numpy.float64], bool]: ...

class InvertedPendulum(System):
    def __init__(self, cart_mass: float, max_speed: float) -> None: ...
    @property
    def cart_mass(self) -> float: ...
    @property
    def max_speed(self) -> float: ...
    def step_rows(
        self,
        states: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)],
        actions: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)],
        noise: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)],
    ) -> NDArray[numpy.float64]: ...
    def __getstate__(self) -> tuple[float, float]: ...
    def __setstate__(self, arg: tuple[float, float], /) -> None: ...

class DoubleIntegrator(System):
    def __init__(self) -> None: ...
    def __getstate__(self) -> tuple[()]: ...
    def __setstate__(self, arg: tuple[()], /) -> None: ...

class CarOnTheHill(System):
    def __init__(self) -> None: ...
    def __getstate__(self) -> tuple[()]: ...
    def __setstate__(self, arg: tuple[()], /) -> None: ...

class SwingUp(System):
    def __init__(self) -> None: ...
    def __getstate__(self) -> tuple[()]: ...
    def __setstate__(self, arg: tuple[()], /) -> None: ...

class Acrobot(System):
    def __init__(self) -> None: ...
    def __getstate__(self) -> tuple[()]: ...
    def __setstate__(self, arg: tuple[()], /) -> None: ...

class CartPole(System):
    def __init__(self, track: float, friction: float) -> None: ...
    @property
    def track(self) -> float: ...
    @property
    def friction(self) -> float: ...
    def __getstate__(self) -> tuple[float, float]: ...
    def __setstate__(self, arg: tuple[float, float], /) -> None: ...

class GridPlanner:
    def __init__(
        self,
        system: System,
        axes: Sequence[Sequence[float]],
        actions: Sequence[float],
        noises: Sequence[float],
        n_threads: int = 1,
    ) -> None: ...
    def sweep(self, discount: float, n_threads: int = 1) -> float: ...
    def value(
        self, state: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)]
    ) -> float: ...
    def act(
        self,
        state: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        candidates: Sequence[float],
        discount: float,
    ) -> float: ...

class KnownnessForest:
    def __init__(
        self,
        box: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)],
        original: bool,
        n_trees: int,
        max_points: int,
        seed: int,
        enough: float,
    ) -> None: ...
    @property
    def n_points(self) -> int: ...
    @property
    def n_leaves(self) -> int: ...
    def insert(
        self,
        points: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)],
        n_threads: int = 1,
    ) -> None: ...
    def knownness(
        self,
        rows: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)],
        n_threads: int = 1,
    ) -> NDArray[numpy.float64]: ...
    def leaves(self, tree: int) -> tuple[NDArray[numpy.float64], NDArray[numpy.float64], NDArray[numpy.float64]]: ...

def optimistic_leaves(
    forest: Forest, known: KnownnessForest, optimistic: float, fade: float, n_threads: int = 1
) -> Forest: ...

class RegressorGroup:
    def __init__(
        self,
        inputs: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)],
    ) -> None: ...
    def add(
        self,
        coefficients: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        forest: Forest | None,
    ) -> None: ...
    def set_kernel(
        self,
        lengths: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        centres: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)],
        weights: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    ) -> None: ...
    def features(
        self,
        rows: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)],
        degree: int,
    ) -> NDArray[numpy.float64]: ...
    def predict(
        self,
        rows: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)],
        n_threads: int = 1,
    ) -> NDArray[numpy.float64]: ...

class LearnedModel:
    def __init__(
        self,
        n_states: int,
        n_actions: int,
        period: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)],
    ) -> None: ...
    def set_dynamics(
        self,
        inputs: Sequence[int],
        group: RegressorGroup,
        plain: Sequence[int],
        circles: Sequence[tuple[int, int, float]],
    ) -> None: ...
    def add_relation(self, dimension: int, sources: Sequence[int], formula: RegressorGroup) -> None: ...
    def set_reward(
        self,
        inputs: Sequence[int],
        shapes: Sequence[tuple[int, int, bool]],
        group: RegressorGroup,
        low: float,
        high: float,
    ) -> None: ...
    def set_end(
        self,
        kind: str,
        thresholds: Sequence[tuple[int, float, float]],
        chance: RegressorGroup | None,
        reward: RegressorGroup,
    ) -> None: ...
    def set_noise(
        self,
        residuals: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)],
        spread: RegressorGroup | None,
    ) -> None: ...
    def set_signals(
        self,
        actuators: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)],
        before: Sequence[int],
        copies: Sequence[tuple[int, int]],
    ) -> None: ...
    def set_edge(
        self,
        box: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)],
        margin: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        ends: bool,
        value: float,
        reward: float,
    ) -> None: ...
    def check(self) -> None: ...
    def step(
        self,
        states: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)],
        actions: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)],
        residual_rows: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order="C", device="cpu", writable=False)]
        | None,
        keep: bool,
    ) -> tuple[NDArray[numpy.float64], NDArray[numpy.float64], NDArray[numpy.float64], NDArray[numpy.float64]]: ...
    def step_around(
        self,
        states: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)],
        actions: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)],
        n: int,
    ) -> tuple[NDArray[numpy.float64], NDArray[numpy.float64], NDArray[numpy.float64], NDArray[numpy.float64]]: ...
    def earn_around(
        self,
        states: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)],
        actions: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)],
        next_states: Annotated[
            NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)
        ],
        n: int,
    ) -> tuple[NDArray[numpy.float64], NDArray[numpy.float64], NDArray[numpy.float64]]: ...
    def rollouts(
        self,
        controller: Controller,
        states: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)],
        first_actions: Annotated[
            NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)
        ]
        | None,
        streams: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order="C", device="cpu", writable=False)],
        n_steps: int,
        discount: float,
        seed: int,
        noisy: bool,
        action_noise: float,
        trace: bool,
        n_threads: int,
    ) -> tuple[NDArray[numpy.float64], NDArray[numpy.float64], NDArray[numpy.uint32]]: ...

def residual_draws(
    seed: int,
    streams: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    n_steps: int,
    n_residuals: int,
) -> NDArray[numpy.uint32]: ...
def action_draws(
    seed: int,
    streams: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    n_draws: int,
) -> NDArray[numpy.float64]: ...
def track(
    model: LearnedModel,
    starts: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)],
    actions: Annotated[NDArray[numpy.float64], dict(shape=(None, None, None), order="C", device="cpu", writable=False)],
    feedback: Annotated[
        NDArray[numpy.float64], dict(shape=(None, None, None, None), order="C", device="cpu", writable=False)
    ]
    | None,
    reference: Annotated[
        NDArray[numpy.float64], dict(shape=(None, None, None), order="C", device="cpu", writable=False)
    ]
    | None,
    action_box: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)],
    reach: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)],
) -> tuple[
    NDArray[numpy.float64],
    NDArray[numpy.float64],
    NDArray[numpy.float64],
    NDArray[numpy.float64],
    NDArray[numpy.float64],
]: ...
def play(
    model: LearnedModel,
    controller: Controller,
    starts: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)],
    residual_rows: Annotated[NDArray[numpy.uint32], dict(shape=(None, None), order="C", device="cpu", writable=False)],
    noise: Annotated[NDArray[numpy.float64], dict(shape=(None, None, None), order="C", device="cpu", writable=False)]
    | None,
    action_box: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)],
    reach: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)],
) -> tuple[
    NDArray[numpy.float64],
    NDArray[numpy.float64],
    NDArray[numpy.float64],
    NDArray[numpy.float64],
    NDArray[numpy.float64],
]: ...
def improve_backward(
    slopes: Annotated[
        NDArray[numpy.float64], dict(shape=(None, None, None, None), order="C", device="cpu", writable=False)
    ],
    gradient: Annotated[
        NDArray[numpy.float64], dict(shape=(None, None, None), order="C", device="cpu", writable=False)
    ],
    curvature: Annotated[
        NDArray[numpy.float64], dict(shape=(None, None, None, None), order="C", device="cpu", writable=False)
    ],
    sizes: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    actions: Annotated[NDArray[numpy.float64], dict(shape=(None, None, None), order="C", device="cpu", writable=False)],
    damping: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)],
    action_box: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)],
    discount: float,
    flattest: float,
) -> tuple[NDArray[numpy.float64], NDArray[numpy.float64]]: ...
def nearest_distances(
    rows: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)],
    places: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)],
    scale: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    periods: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)],
) -> NDArray[numpy.float64]: ...
