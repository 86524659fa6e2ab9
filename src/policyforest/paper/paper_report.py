"""The report: the paper's claims and figures regenerated, in one HTML file that needs no network."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from pathlib import Path

from policyforest.environments.named_problems import named_problem
from policyforest.paper import exhibit_drawing, report_summary
from policyforest.paper.captions import CAPTIONS
from policyforest.paper.claims import verdicts
from policyforest.paper.finished_cells import Cells
from policyforest.paper.registry import EXHIBITS, Exhibit
from policyforest.paper.verdicts import Verdict
from policyforest.report import interactive, page
from policyforest.report.maps import Maps

TITLE = "Fitted Policy Forest, reproduced"
PICTURE_DPI = 130
PORTRAITS = {
    ("inverted-pendulum-6kg", "batch"): (
        "Inverted Pendulum, 6 kg",
        "Learned from 100 random episodes with our defaults.",
        50.0,
    ),
    ("swing-up", "disagreement"): ("Swing-up", "Learned online by our explorer.", 15.0),
    ("car-on-the-hill", "batch"): (
        "Car on the Hill",
        "Learned from 20,000 uniform samples with the paper's settings.",
        4.0,
    ),
    ("double-integrator", "batch"): ("Double Integrator", "Learned from 300 random episodes with our defaults.", 1.0),
}


def write(cells: Cells, path: Path, made: dict[str, str]) -> Path:
    """Writes the report of all cells in a folder; `made` gives the software, the machine and the date."""
    found = verdicts(cells)
    blocks = [
        _head(cells, made),
        page.heading("Compared with the paper"),
        _summary(cells),
        page.heading("The paper's claims"),
        _claims(found),
        page.heading("Figures"),
        *(_figure(exhibit, cells, found) for exhibit in EXHIBITS.values() if exhibit.kind == "figure"),
        '<h2 id="policies">What was learned</h2>',
        *_portraits(cells),
        page.heading("Tables"),
        *(_table(exhibit, cells) for exhibit in EXHIBITS.values() if exhibit.kind == "table"),
    ]
    interactive.write_report(path, TITLE, blocks)
    return path


def _head(cells: Cells, made: dict[str, str]) -> str:
    words = ", ".join(f"{name} {value}" for name, value in made.items())
    scale = "This is a preview with a few seeds per study, not the final results. " if cells.scale == "quick" else ""
    return (
        f"<header><h1>{escape(TITLE)}</h1><p>L. Hofer and H. Gimbert, <i>Online Reinforcement Learning for Real-Time "
        f"Exploration in Continuous State and Action Markov Decision Processes</i>. {scale}{escape(words)}.</p>"
        '<nav><a href="#policies">animated policies</a></nav></header>'
    )


def _summary(cells: Cells) -> str:
    head = "".join(f"<th>{escape(column)}</th>" for column in report_summary.COLUMNS)
    body = "".join(
        "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row[:-1]) + f"<td>{_beside(row[-1])}</td></tr>"
        for row in report_summary.rows(cells)
    )
    caption = (
        "Mean return over independently learned policies (online: over trials, each with ten policies), undiscounted; "
        "for the car, steps to the top. The limit is computed by dynamic programming with the true equations. The "
        "verdict shows whether the paper's number lies in our interval or, if not, whether our number is better or "
        "worse."
    )
    why = "".join(page.paragraph(f"Worse than the paper: {reason}") for reason in report_summary.reasons(cells))
    return f"<table><caption>{caption}</caption><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{why}"


def _beside(word: str) -> str:
    return '<span class="none">no number</span>' if word == "none" else interactive.badge(word)


def _claims(found: Sequence[Verdict]) -> str:
    body = "".join(
        f"<tr><td>{escape(v.claim.text)}</td><td>{interactive.badge(v.finding.ruling)}</td>"
        f'<td class="evidence">{escape(v.finding.evidence)}.{_note(v)}</td></tr>'
        for v in found
    )
    return (
        f'<table class="wide"><thead><tr><th>claim</th><th></th><th>test</th></tr></thead><tbody>{body}</tbody></table>'
    )


def _note(verdict: Verdict) -> str:
    return f"<br><i>{escape(verdict.finding.note)}</i>" if verdict.finding.note else ""


def _figure(exhibit: Exhibit, cells: Cells, found: Sequence[Verdict]) -> str:
    from policyforest.report.canvas import png_bytes

    done, total, _ = exhibit.progress(cells.out, cells.scale)
    picture = page.picture(png_bytes(exhibit_drawing.figure(exhibit, cells), PICTURE_DPI), exhibit.title)
    where = f"{exhibit.where} of the paper" if exhibit.where else "not in the paper"
    count = f" {done} of {total} cells." if total else ""
    claims = "".join(
        f"<p>{interactive.badge(v.finding.ruling)} {escape(v.claim.text)}</p>"
        for v in found
        if exhibit.name in v.claim.exhibits
    )
    caption = (
        f"<p><b>{escape(exhibit.title)}</b> ({escape(where)}). {escape(CAPTIONS[exhibit.name])}{count}</p>{claims}"
    )
    return f'<figure id="{escape(exhibit.name)}">{picture}<figcaption>{caption}</figcaption></figure>'


def _table(exhibit: Exhibit, cells: Cells) -> str:
    columns, rows = exhibit_drawing.table(exhibit, cells)
    title = exhibit.title + (f" ({exhibit.where})" if exhibit.where else "")
    return f"<details open><summary>{escape(title)}</summary>{page.table(columns, rows)}</details>"


def _portraits(cells: Cells) -> list[str]:
    blocks = []
    for (problem, how), (title, words, most) in PORTRAITS.items():
        found = cells.portrait(problem, how)
        if found is None:
            continue
        maps = Maps.from_dict(found["maps"])
        played = found["episode"]
        id = named_problem(problem).id
        blocks += [
            f"<h3>{escape(title)}</h3>",
            page.paragraph(
                f"{words} The number of samples is {found['samples']:,}. Press play to see the trajectory on the map "
                "of the policy."
            ),
            interactive.episode_block(id, played["states"], played["actions"], played["rewards"], most, maps),
            interactive.maps_block(maps),
        ]
    return blocks or [page.paragraph("The animated policies are not computed yet.")]
