"""Local processes: for work that threads of the core do not cover, such as many whole policies."""

from __future__ import annotations

import mmap
import os
import signal
import tempfile
import threading
import weakref
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import get_context, parent_process
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

from policyforest._support.arguments import threads
from policyforest.forest.executors.interface import Block, Executor, Result
from policyforest.forest.executors.sharing import Label, put_together, taken_apart

# Arrays begin at multiples of this, as vector instructions prefer.
ALIGNMENT = 64


class SharedFile:
    """An input in a file that workers map into their memory. The file holds only numbers, and is deleted with this
    object."""

    def __init__(self, name: str, value: Any) -> None:
        self.label, self.text, arrays = taken_apart(name, value)
        self.places: list[tuple[int, int]] = []
        descriptor, self.path = tempfile.mkstemp(prefix="policyforest-")
        self._remove = weakref.finalize(self, Path(self.path).unlink, missing_ok=True)
        with os.fdopen(descriptor, "wb") as file:
            for array in arrays:
                file.seek(-(-file.tell() // ALIGNMENT) * ALIGNMENT)
                self.places.append((file.tell(), array.nbytes))
                file.write(array)

    def handle(self) -> Handle:
        return self.label, self.text, self.path, self.places


Handle = tuple[Label, bytes, str, list[tuple[int, int]]]


class Processes(Executor):
    """`workers` processes (-1: one per core), each with `n_jobs` threads. They start with the first task."""

    def __init__(self, workers: int = -1, n_jobs: int = 1) -> None:
        self.workers, self.n_jobs = threads(workers, "workers"), threads(n_jobs)
        self._pool: ProcessPoolExecutor | None = None

    def share(self, name: str, value: Any) -> SharedFile:
        """Writes the value to a temporary file that the processes map into their memory."""
        return SharedFile(name, value)

    def map(
        self, task: Callable[..., Result], blocks: Sequence[Block], *shared: SharedFile
    ) -> Iterator[tuple[int, Result]]:
        """Yields the number of each block and its result as tasks finish. If a task or a process fails, all processes
        end."""
        if self._pool is None:
            context = get_context("spawn")
            self._pool = ProcessPoolExecutor(self.workers, context, initializer=_follow_the_parent)
        handles = [file.handle() for file in shared]
        futures = {self._pool.submit(_run, task, block, self.n_jobs, handles): i for i, block in enumerate(blocks)}
        try:
            for future in as_completed(futures):
                yield futures[future], future.result()
        except BrokenProcessPool as error:
            self._stop()
            died = "a worker process died (killed or out of memory)"
            raise RuntimeError(f"executor: {died}, run the call again") from error
        except BaseException:
            self._stop()
            raise

    def _stop(self) -> None:
        """Ends the processes at once, without waiting for their tasks."""
        pool, self._pool = self._pool, None
        if pool is not None:
            results: Any = pool._result_queue
            results._writer.close()  # our copy: otherwise the reader would wait for a result that never comes
            for process in list((pool._processes or {}).values()):
                process.kill()
            pool.shutdown(cancel_futures=True)

    def close(self) -> None:
        """Ends the processes after their tasks; the next task starts new ones."""
        if self._pool is not None:
            self._pool.shutdown()
            self._pool = None

    def __repr__(self) -> str:
        return f"Processes({self.workers}, n_jobs={self.n_jobs})"


def _run(task: Callable[..., Result], block: Any, n_jobs: int, handles: list[Handle]) -> Result:
    return task(block, n_jobs, *(_open(*handle) for handle in handles))


def _open(label: Label, text: bytes, path: str, places: list[tuple[int, int]]) -> Any:
    def arrays() -> list[memoryview]:
        if not any(n_bytes for _, n_bytes in places):
            return [memoryview(b"") for _ in places]
        with open(path, "rb") as file:
            whole = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
        return [whole[begin : begin + n_bytes] for begin, n_bytes in places]

    return put_together(label, text, arrays)


def _follow_the_parent() -> None:
    """A worker leaves interrupts to its parent, and ends with its parent, even if that was killed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = parent_process()
    assert parent is not None

    def end_with(parent: BaseProcess) -> None:
        parent.join()
        os._exit(1)

    threading.Thread(target=end_with, args=(parent,), daemon=True).start()
