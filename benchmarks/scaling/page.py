"""Writes the tables, the plot and the prediction of docs/scaling.md, from docs/results/scaling.jsonl."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any

from run import GROWTH, ROOT, STRONG, WEAK, Measurement, stored

PAGE, PLOT = ROOT / "docs" / "scaling.md", ROOT / "docs" / "images" / "scaling.png"
BEGIN, END = "<!-- scaling: made by benchmarks/scaling/page.py -->\n", "<!-- end of scaling -->\n"
TREES, INPUTS, STATES = 25, 3, 2
# The cluster of the prediction: nodes, cores per node, bytes per second between nodes, and samples.
NODES, CORES, NETWORK, SAMPLES = 100, 16, 1.25e9, 1_000_000_000

Result = dict[str, Any]


def read(measurements: Iterable[Measurement]) -> dict[Measurement, Result]:
    """The stored results of these measurements."""
    done = stored()
    return {m: done[m.key] for m in measurements if m.key in done}


def n_log_n(n: float) -> float:
    return n * math.log(n)


def ratio_to_n_log_n(result: Result, base: Result) -> float:
    """The time divided by the time that N log N predicts from the base."""
    expected = base["seconds"] * n_log_n(result["samples"]) / n_log_n(base["samples"])
    return float(result["seconds"] / expected)


def growth_table(found: dict[Measurement, Result]) -> list[str]:
    base = found.get(Measurement(100_000))
    rows = ["| samples | one iteration | growth of trees | relative to N log N from 100,000 | peak memory | leaves |"]
    rows.append("|---:|---:|---:|---:|---:|---:|")
    for result in found.values():
        ratio = f"{ratio_to_n_log_n(result, base):.2f}×" if base else ""
        rows.append(
            f"| {result['samples']:,} | {result['seconds']:.2f} s | {result['growth_seconds']:.2f} s | {ratio} "
            f"| {result['peak_bytes'] / 1e9:.2f} GB | {result['leaves']:,} |"
        )
    return rows


def workers_table(found: dict[Measurement, Result]) -> list[str]:
    rows = ["| samples | executor | workers | one iteration | shared per iteration | same bits as threads |"]
    rows.append("|---:|---|---:|---:|---:|---|")
    digests = {result["samples"]: result["digest"] for m, result in found.items() if m.executor == "threads"}
    for m, result in found.items():
        moved = f"{result['bytes_shared'] / 1e6:.1f} MB" if m.executor == "ray" else ""
        same = {None: "", result["digest"]: "yes"}.get(digests.get(m.samples), "NO")
        rows.append(f"| {m.samples:,} | {m.executor} | {m.workers} | {result['seconds']:.2f} s | {moved} | {same} |")
    return rows


def required_table(found: dict[Measurement, Result]) -> list[str]:
    def compare(a: Measurement, b: Measurement, value: Callable[[Result, Result], float]) -> str:
        return f"{value(found[a], found[b]):.2f}×" if a in found and b in found else "not measured"

    def times(a: Result, b: Result) -> float:
        return float(a["seconds"] / b["seconds"])

    n = 1_000_000
    largest, base = Measurement(10_000_000), Measurement(100_000)
    peak = f", peak {found[largest]['peak_bytes'] / 1e9:.2f} GB (at most 4)" if largest in found else ""
    rows = ["| what | required | measured |", "|---|---|---|"]
    speedup = compare(Measurement(100_000, workers=1), Measurement(100_000), times)
    rows.append(f"| 2 threads compared with 1, one Q iteration, 100,000 samples | at least 1.7× faster | {speedup} |")
    slower = compare(Measurement(n, "ray", 2), Measurement(n), times)
    rows.append(f"| Ray with 2 workers compared with 2 threads, 1,000,000 samples | at most 1.3× slower | {slower} |")
    grown = compare(largest, base, ratio_to_n_log_n)
    rows.append(f"| 10,000,000 samples, relative to N log N from 100,000 | at most 1.5× | {grown}{peak} |")
    return rows


def prediction(base: Result) -> list[str]:
    """Predicts an iteration with a billion samples on a hundred nodes from one measurement."""
    n, factor = SAMPLES, n_log_n(SAMPLES) / n_log_n(base["samples"])
    core_growth = base["growth_seconds"] * base["workers"] / TREES * factor
    core_values = (base["seconds"] - base["growth_seconds"]) * base["workers"] * factor
    forest = base["forest_bytes"] * n / base["samples"] * math.log(base["samples"]) / math.log(n)
    targets = 8 * n
    growth, values = core_growth * -(-TREES // NODES), core_values / (NODES * CORES)
    moved = (targets + forest) / NETWORK
    store = 8 * n * (INPUTS + 1 + STATES) + forest
    buffers = 2 * 8 * n * (INPUTS + 1)
    rows = [
        "This iteration was not run. Its times are predicted from those of one machine with "
        f"{base['samples']:,} samples.",
        "",
        "| part of an iteration | seconds | assumption |",
        "|---|---:|---|",
    ]
    rows.append(
        f"| one tree on one core of each of {TREES} nodes, out of {NODES} nodes "
        f"| {growth:,.0f} | the other cores are idle |"
    )
    rows.append(f"| maxima on {NODES * CORES:,} cores | {values:,.0f} | all cores have the same number of states |")
    rows.append(
        f"| targets ({targets / 1e9:.0f} GB) and forest ({forest / 1e9:.0f} GB), sent to all nodes and back "
        f"| {2 * moved:,.0f} | {NETWORK * 8 / 1e9:.0f} Gbit/s between nodes |"
    )
    rows.append(f"| **an iteration** | **{growth + values + 2 * moved:,.0f}** | |")
    rows += [
        "",
        f"A node that grows a tree needs a store of {store / 1e9:.0f} GB and buffers of {buffers / 1e9:.0f} GB.",
        f"The driver needs about {((57 + 8 * (INPUTS + 1 + STATES) + 24) * n + forest) / 1e9:.0f} GB.",
    ]
    return rows


def plot(found: dict[Measurement, Result]) -> None:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6.5, 4.2), layout="constrained")
    axes = figure.add_subplot()
    sizes = [r["samples"] for r in found.values()]
    axes.loglog(sizes, [r["seconds"] for r in found.values()], "o-", label="one iteration, 2 threads")
    axes.loglog(sizes, [r["growth_seconds"] for r in found.values()], "s--", label="growth of trees")
    base = found.get(Measurement(100_000))
    if base is not None:
        line = [base["seconds"] * n_log_n(n) / n_log_n(base["samples"]) for n in sizes]
        axes.loglog(sizes, line, ":", color="grey", label="N log N through 100,000")
    axes.set_xlabel("samples")
    axes.set_ylabel("seconds")
    axes.grid(True, which="major", alpha=0.3)
    axes.legend()
    figure.savefig(PLOT, dpi=110)


def main() -> None:
    grown, workers = read(GROWTH), read([*STRONG, *WEAK])
    everything = grown | workers
    parts = [required_table(everything), growth_table(grown), workers_table(workers)]
    if grown:
        plot(grown)
        picture = "![Seconds per iteration against the number of samples, both axes logarithmic](images/scaling.png)"
        parts[2:2] = [[picture]]
        parts.append(prediction(list(grown.values())[-1]))
    headings = [
        "## What is required",
        "## One machine",
        "",
        "## Many workers",
        "## A billion samples on a hundred nodes",
    ]
    made = "\n".join("\n".join([*([h, ""] if h else []), *part, ""]) for h, part in zip(headings, parts, strict=False))
    text = PAGE.read_text()
    if text.count(BEGIN) != 1 or text.count(END) != 1:
        raise ValueError(f"{PAGE.name}: must contain each of the marks {BEGIN!r} and {END!r} once")
    before, _, rest = text.partition(BEGIN)
    PAGE.write_text(before + BEGIN + "\n" + made + "\n" + END + rest.partition(END)[2])


if __name__ == "__main__":
    main()
