"""A page in a single HTML file that contains its text, tables and pictures. It has no script and fetches nothing."""

from __future__ import annotations

import base64
import os
from collections.abc import Sequence
from html import escape
from pathlib import Path

from policyforest._support.files import replacing

CSS = """
body { font: 16px/1.55 system-ui, sans-serif; color: #33383f; max-width: 60rem; margin: 2.5rem auto; padding: 0 1rem }
h1 { font-size: 1.7rem; margin-bottom: .3rem } h2 { font-size: 1.2rem; margin-top: 2.2rem }
table { border-collapse: collapse; margin: 1rem 0 } caption { text-align: left; color: #6b7280 }
th, td { padding: .3rem .9rem .3rem 0; border-bottom: 1px solid #d9dde2; text-align: left }
td + td, th + th { text-align: right; font-variant-numeric: tabular-nums }
img { max-width: 100%; height: auto; display: block; margin: 1rem 0 }
pre { background: #f4f5f7; padding: .8rem 1rem; overflow-x: auto; font-size: .9rem }
"""


def heading(text: str) -> str:
    return f"<h2>{escape(text)}</h2>"


def paragraph(text: str) -> str:
    return f"<p>{escape(text)}</p>"


def code(text: str) -> str:
    return f"<pre>{escape(text.strip())}</pre>"


def picture(png: bytes, description: str) -> str:
    """The picture, embedded in the page."""
    return f'<img alt="{escape(description)}" src="data:image/png;base64,{base64.b64encode(png).decode()}">'


def table(columns: Sequence[str], rows: Sequence[Sequence[str]], caption: str = "") -> str:
    head = "".join(f"<th>{escape(column)}</th>" for column in columns)
    body = "".join(f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in row)}</tr>" for row in rows)
    return f"<table><caption>{escape(caption)}</caption><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def page(title: str, blocks: Sequence[str]) -> str:
    """The whole document; `blocks` are pieces of HTML that the functions above made."""
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>'
        f'<meta name="viewport" content="width=device-width, initial-scale=1"><style>{CSS}</style></head>\n'
        f"<body><h1>{escape(title)}</h1>\n" + "\n".join(blocks) + "\n</body></html>\n"
    )


def write_page(path: str | os.PathLike[str], title: str, blocks: Sequence[str]) -> None:
    with replacing(path) as beside:
        Path(beside).write_text(page(title, blocks), encoding="utf-8")
