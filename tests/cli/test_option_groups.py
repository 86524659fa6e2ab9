"""Options that belong together reach a command as one object."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated

import pytest
import typer
from typer.testing import CliRunner

from policyforest.cli.option_groups import with_option_groups


@dataclass(frozen=True)
class Sizes:
    width: Annotated[int, typer.Option(help="Columns of the drawing.")]
    height: Annotated[int, typer.Option("--height", "-h", help="Rows of the drawing.")] = 24
    margins: Annotated[list[int], typer.Option(help="May be repeated.")] = field(default_factory=lambda: [1, 2])


@dataclass(frozen=True)
class Frame:
    title: Annotated[str, typer.Option(help="Above the drawing.")] = "untitled"
    height: Annotated[int, typer.Option(help="Hidden by the option of the first group.")] = 5


@with_option_groups
def draw(
    path: Annotated[str, typer.Argument(help="Where the drawing goes.")],
    flat: Annotated[bool, typer.Option("--flat")] = False,
    *,
    sizes: Sizes,
    frame: Frame,
    title: Annotated[str, typer.Option(help="Hidden by the option of the group before.")] = "none",
) -> None:
    """Draws."""
    print(path, flat, sizes, frame, title, sep="\n")


def invoke(*arguments: str) -> tuple[int, list[str]]:
    app = typer.Typer(rich_markup_mode=None)
    app.command()(draw)
    result = CliRunner().invoke(app, list(arguments))
    return result.exit_code, result.output.splitlines()


def test_a_group_reaches_the_command_as_one_object() -> None:
    code, lines = invoke("a.png", "--width", "3", "-h", "4", "--margins", "7", "--margins", "8", "--title", "T")
    assert code == 0
    assert lines == ["a.png", "False", str(Sizes(3, 4, [7, 8])), str(Frame("T", 4)), "T"]


def test_fields_have_their_defaults() -> None:
    assert invoke("a.png", "--flat", "--width", "3")[1][1:3] == ["True", str(Sizes(3, 24, [1, 2]))]
    assert Sizes(3).margins is not Sizes(3).margins


def test_a_field_without_a_default_is_required() -> None:
    code, lines = invoke("a.png")
    assert code == 2
    assert any("--width" in line for line in lines)


def test_the_help_lists_the_options_in_order_and_the_first_declaration_of_a_name() -> None:
    text = " ".join(" ".join(invoke("--help")[1]).split())
    places = [
        text.index(part) for part in ("Draws.", "Where the", "--flat", "--width", "--height", "--margins", "--title")
    ]
    assert places == sorted(places)
    assert "Above the drawing." in text
    assert "Hidden by" not in text
    assert "--sizes" not in text


def test_the_command_can_be_called_from_python(capsys: pytest.CaptureFixture[str]) -> None:
    draw(path="a.png", width=3)
    assert str(Sizes(3)) in capsys.readouterr().out
    with pytest.raises(TypeError, match="depth"):
        draw(path="a.png", width=3, depth=1)
