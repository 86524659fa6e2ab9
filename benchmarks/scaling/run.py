"""How far it goes: measures N log N, threads, processes and Ray, one process after another, and keeps what is done.

    make bench-scaling                                          # up to a million samples, half an hour on two cores
    python benchmarks/scaling/run.py --up-to 10000000           # the whole of it

A finished measurement is one line of docs/results/scaling.jsonl and is not repeated; `--again` repeats all of them.
Then the page docs/scaling.md and its plot are made from the file.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from policyforest.paper.json_lines import StoredObject, put_objects, read_objects

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "docs" / "results" / "scaling.jsonl"
# Of the object store: the samples, targets, two forests and results, and as much again.
STORE_BYTES_A_SAMPLE, LEAST_STORE = 250, 200_000_000
REFUSAL = "is no measurement"


Key = tuple[str, int, int]
"""Executor, workers, samples"""


@dataclass(frozen=True)
class Measurement:
    samples: int
    executor: str = "threads"
    workers: int = 2

    @property
    def repeats(self) -> int:
        """What takes a second is measured more than once."""
        return 7 if self.samples <= 100_000 else 3 if self.samples <= 300_000 else 1

    @property
    def key(self) -> Key:
        return self.executor, self.workers, self.samples


GROWTH = [Measurement(n) for n in (10_000, 30_000, 100_000, 300_000, 1_000_000, 3_000_000, 10_000_000)]
STRONG = [
    *(Measurement(100_000, "threads", workers) for workers in (1, 2)),
    *(Measurement(1_000_000, executor, w) for executor in ("threads", "processes", "ray") for w in (1, 2)),
    *(Measurement(1_000_000, "ray", w) for w in (4, 8)),  # more workers than cores: what they cost
]
WEAK = [Measurement(250_000 * w, "ray", w) for w in (1, 2, 4)]


def run(measurement: Measurement) -> None:
    command = [sys.executable, str(Path(__file__).with_name("iteration.py"))]
    command += ["--samples", str(measurement.samples), "--executor", measurement.executor]
    command += ["--workers", str(measurement.workers), "--repeats", str(measurement.repeats)]
    command += ["--store", str(max(LEAST_STORE, STORE_BYTES_A_SAMPLE * measurement.samples))]
    printed = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
    result = json.loads(printed.splitlines()[-1])
    put_objects(RESULTS, [result], key_of, REFUSAL)
    name = "-".join(map(str, measurement.key))
    print(f"{name}: {result['seconds']:.1f} s per iteration, {result['peak_bytes'] / 1e9:.2f} GB")


def stored() -> dict[Key, StoredObject]:
    """All finished measurements."""
    return read_objects(RESULTS, key_of, REFUSAL)


def key_of(result: StoredObject) -> Key:
    try:
        return str(result["executor"]), int(result["workers"]), int(result["samples"])
    except (KeyError, TypeError) as error:
        raise ValueError(f"it has no {error}") from error


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--up-to", type=int, default=1_000_000, help="the most samples")
    parser.add_argument("--again", action="store_true", help="measure what is there already, too")
    parser.add_argument("--without-ray", action="store_true")
    arguments = parser.parse_args()
    done = stored()
    for measurement in dict.fromkeys([*GROWTH, *STRONG, *WEAK]):
        wanted = measurement.samples <= arguments.up_to
        wanted &= not (arguments.without_ray and measurement.executor == "ray")
        if wanted and (arguments.again or measurement.key not in done):
            run(measurement)
    subprocess.run([sys.executable, str(Path(__file__).with_name("page.py"))], check=True)


if __name__ == "__main__":
    main()
