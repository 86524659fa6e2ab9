"""One thread for linear algebra: small matrices gain nothing from more threads, and another order of sums changes
bits."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar, cast

from threadpoolctl import threadpool_limits

Function = TypeVar("Function", bound=Callable[..., object])


def one_blas_thread(function: Function) -> Function:
    """Decorates a function whose results must not depend on the number of processors."""
    return cast(Function, threadpool_limits.wrap(limits=1, user_api="blas")(function))
