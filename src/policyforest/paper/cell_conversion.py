"""Converts cells from the old layout, one JSON file per cell in a folder per study, to one JSON Lines file per study.

All folders are checked and all new texts are made before anything is written. Then each study is converted in two
steps: its file is written and renamed, and the folder is deleted. If the conversion is killed between the two steps,
the cells are in both places, and the next run deletes the folder.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from policyforest.paper.cell_checks import check_cell
from policyforest.paper.json_lines import StoredObject, as_lines, locked, parsed, read_objects, write_lines
from policyforest.paper.studies import Study

CELL_NAME = re.compile(r"\d{4,}\.json")
LEFT_BEHIND = re.compile(r"\.\d{4,}\.json\.[0-9a-f]{8}")
"""The file that remains if a writer is killed before it can rename it"""
SCALES = ("quick", "paper")


def convert_old_layout(out: Path, studies: Iterable[Study]) -> int:
    """Converts all folders of these studies under `out`, and returns the number of cells.

    A `ValueError` names a file that is not a finished cell, a file that differs from a cell that was converted before,
    or a folder that is a symbolic link."""
    places = {study.old_folder(out, scale): (study, scale) for study in studies for scale in SCALES}
    folders = [folder for folder in places if folder.is_dir()]
    if not folders:
        return 0
    for folder in folders:
        if folder.is_symlink():  # it may lead to the cells of another folder, which must not be deleted
            raise ValueError(f"{folder}: is a symbolic link, must be replaced by the folder before it is converted")
    with locked(out):
        files = {folder: sorted(folder.iterdir()) for folder in folders}
        texts = {folder: as_lines(_merged(files[folder], *places[folder], out)) for folder in files}
        for folder in files:
            study, scale = places[folder]
            write_lines(study.file(out, scale), texts[folder])
            for file in files[folder]:
                file.unlink()
            folder.rmdir()
    return sum(not LEFT_BEHIND.fullmatch(file.name) for found in files.values() for file in found)


def _merged(files: Sequence[Path], study: Study, scale: str, out: Path) -> dict[int, StoredObject]:
    """The cells of a folder's files, and those of its study that are in the new layout already."""
    new = study.file(out, scale)
    cells = read_objects(new, study.seed_of, study.refusal)
    for file in files:
        if LEFT_BEHIND.fullmatch(file.name):
            continue
        content = _read_cell(file, study)
        if cells.setdefault(content["seed"], content) != content:
            raise ValueError(f"{file}: differs from the cell with its seed in {new}, one of them must be deleted")
    return cells


def _read_cell(file: Path, study: Study) -> StoredObject:
    if not (CELL_NAME.fullmatch(file.name) and file.is_file()):
        raise ValueError(
            f"{file}: is not a cell of {study.name}, must be moved elsewhere before the cells are converted"
        )
    try:
        content: StoredObject = parsed(file.read_bytes())
        seed = study.seed_of(content)
        if seed != int(file.stem):
            raise ValueError(f"it is of the seed {seed}")
        check_cell(content, study.kind, study.methods)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{file}: {study.refusal} ({error}), must be deleted to be computed again") from error
    return content
