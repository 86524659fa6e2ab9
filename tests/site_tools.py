"""`tools/docs_site.py`, which is no module of a package, for the tests."""

import importlib.util
from pathlib import Path

ROOT = Path(__file__).parents[1]
_spec = importlib.util.spec_from_file_location("docs_site", ROOT / "tools" / "docs_site.py")
assert _spec is not None
assert _spec.loader is not None
docs_site = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(docs_site)
