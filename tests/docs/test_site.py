"""The documentation as a site: it builds without warnings and without network, and leaves nothing out."""

from __future__ import annotations

import html
import importlib
import inspect
import re
import subprocess
import sys
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import NamedTuple

import pytest

from browser import CHROMIUM, Browser
from public_api import PUBLIC_MODULES, public_members, public_names

ROOT = Path(__file__).parents[2]
PARTS = ("Formula", "Parameters", "What it logs", "When to use it", "Where it departs from the paper")
NAMES = [(name, key, item) for name in PUBLIC_MODULES for key, item in public_names(importlib.import_module(name))]
# A heading of an object, its signature, and what is written about it up to the next heading.
ENTRY = re.compile(
    r'<h[2-6] id="([\w.]+)" class="doc doc-heading">.*?</h\d>\s*'
    r'(?:<div class="[^"]*doc-signature[^"]*">(.*?)</div>)?(.*?)(?=<h[2-6] |</article>)',
    re.DOTALL,
)


# What is wider than its place: the page itself, or a part of the text that would scroll sideways inside of it.
TOO_WIDE = """(() => {
  const text = document.querySelector(".md-content");
  const parts = [document.scrollingElement, ...text.querySelectorAll("*")];
  const wide = parts.filter((e) => e.scrollWidth > e.clientWidth + 1 && e.clientWidth > 0 &&
    (e === document.scrollingElement || ["auto", "scroll"].includes(getComputedStyle(e).overflowX)));
  return wide.map((e) => `${e.tagName}: ${e.scrollWidth} in ${e.clientWidth}, ${e.textContent.slice(0, 60)}`);
})()"""
# Options, numbers and words that a line break divides. On the narrowest phone, a long line of a block of code may break
# anywhere but in an option.
BROKEN = r"""(() => {
  const found = [], walker = document.createTreeWalker(document.querySelector(".md-content"), NodeFilter.SHOW_TEXT);
  for (let text = walker.nextNode(); text; text = walker.nextNode()) {
    if (text.parentElement.closest("script, style, .headerlink")) continue;
    const kinds = ["(?<![\\w-])--[a-z][\\w-]*"];
    if (text.parentElement.closest("code")) kinds.push("(?<![\\w-])-[a-z]");
    if (innerWidth >= 400 || !text.parentElement.closest("pre")) {
      kinds.push("[0-9.]+e-?[0-9]+", "[A-Za-z0-9]+(?:[.,][0-9]+)*");
    }
    for (const word of text.data.matchAll(new RegExp(kinds.join("|"), "g"))) {
      const range = document.createRange();
      range.setStart(text, word.index);
      range.setEnd(text, word.index + word[0].length);
      const boxes = [...range.getClientRects()].filter((box) => box.width > 0);
      if (new Set(boxes.map((box) => Math.round(box.top))).size > 1) found.push(word[0]);
    }
  }
  return found;
})()"""


class QuietHandler(SimpleHTTPRequestHandler):
    """Serves the site and writes no log."""

    def log_message(self, *_: object) -> None:
        pass


class Entry(NamedTuple):
    """An object on an API page, as a reader sees it."""

    signature: str
    text: str


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The built site; its build had no warnings."""
    folder = tmp_path_factory.mktemp("docs") / "site"
    # A proxy that is not there: whatever asks the network fails.
    nowhere = dict.fromkeys(("http_proxy", "https_proxy", "all_proxy"), "http://127.0.0.1:9")
    nowhere["NO_MKDOCS_2_WARNING"] = "1"  # the theme's news about its successor
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "-d", str(folder)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, env=nowhere)
    assert done.returncode == 0, done.stdout + done.stderr  # not with -q, which hides warnings from --strict too
    assert "WARNING" not in done.stdout + done.stderr
    return folder


@pytest.fixture(scope="module")
def entries(site: Path) -> dict[str, Entry]:
    """What the API pages have, under the full name of each object."""
    found: dict[str, Entry] = {}
    for page in sorted((site / "api").glob("*.html")):
        for path, signature, text in ENTRY.findall(page.read_text()):
            assert path not in found, f"{path} is described twice"
            found[path] = Entry(visible(signature), visible(text))
    return found


def visible(code: str) -> str:
    return html.unescape(re.sub(r"<[^>]+>", "", code)).strip()


def path_on_site(item: object, entries: dict[str, Entry]) -> str:
    """The one public name of an object, of those it has in several modules, that the API pages use."""
    names = {f"{module}.{key}" for module, key, other in NAMES if other is item}
    shown = names & entries.keys()
    assert len(shown) == 1, f"one of {sorted(names)} must have an entry in docs/api, not {sorted(shown)}"
    return shown.pop()


def has_parameters(item: object) -> bool:
    """Whether it is called with parameters that PolicyForest has named."""
    if not inspect.isclass(item):
        return inspect.isroutine(item)
    ours = [owner for owner in inspect.getmro(item) if owner.__module__.startswith("policyforest")]
    return any("__init__" in vars(owner) for owner in ours) and not getattr(item, "_is_protocol", False)


def test_the_site_has_the_pages_that_lie_at_the_root_of_the_repository(site: Path) -> None:
    assert "How the code is organised" in (site / "contributing.html").read_text()
    assert "Changes" in (site / "changes.html").read_text()


@pytest.mark.parametrize(("module", "key", "item"), NAMES, ids=[f"{module}.{key}" for module, key, _ in NAMES])
def test_the_api_pages_have_every_public_name_and_member(
    entries: dict[str, Entry], module: str, key: str, item: object
) -> None:
    path = path_on_site(item, entries)
    assert entries[path].text, f"{path} has no description on the site"
    assert entries[path].signature.startswith(f"{key}(") or not has_parameters(item)
    for member, _ in public_members(item):
        assert f"{path}.{member}" in entries, f"{path}.{member} has no entry: its own docstring is missing"
        assert entries[f"{path}.{member}"].text, f"{path}.{member} has no description on the site"
        assert re.match(rf"{member}(\(.*\) -> |: )", entries[f"{path}.{member}"].signature, re.DOTALL)


def test_the_api_pages_have_nothing_private(entries: dict[str, Entry]) -> None:
    assert not [path for path in entries if re.search(r"\._(?!_(getitem|len)__$)", path)]


def test_parameters_are_lists_and_no_markup_is_left_over(entries: dict[str, Entry]) -> None:
    assert "Parameters:" in entries["policyforest.FittedQIteration"].text
    left_over = re.compile(r"\bArgs:|^\s*-{4,}|\.\. math|:(?:meth|class|func|attr):", re.MULTILINE)
    assert not [path for path, entry in entries.items() if left_over.search(entry.text)]


@pytest.mark.parametrize("page", sorted((ROOT / "docs" / "algorithms").glob("*.md")), ids=lambda page: page.stem)
def test_a_page_of_an_algorithm_has_all_its_parts(page: Path) -> None:
    text = page.read_text()
    assert [line[3:] for line in text.splitlines() if line.startswith("## ")] == list(PARTS)


@pytest.mark.skipif(not CHROMIUM, reason="Chromium is not installed; tests/install_browser.sh installs it")
@pytest.mark.parametrize("width", [1280, 400, 320])
def test_no_page_scrolls_sideways_and_no_word_is_broken(site: Path, width: int) -> None:
    pages = sorted(page for page in site.rglob("*.html") if page.name != "404.html")
    assert len(pages) > 40
    with Browser() as browser:
        wide, broken = {}, {}
        for page in pages:
            browser.open_page(page, width)
            name = page.relative_to(site).as_posix()
            wide[name] = browser.run(TOO_WIDE)
            # A few names of classes are longer than a line of the narrowest phone.
            broken[name] = [word for word in browser.run(BROKEN) if width >= 400 or len(word) <= 20]
        assert {name: parts for name, parts in wide.items() if parts} == {}
        assert {name: words for name, words in broken.items() if words} == {}
        assert [url for url in browser.requests if not url.startswith(("file:", "data:"))] == []


@pytest.mark.skipif(not CHROMIUM, reason="Chromium is not installed; tests/install_browser.sh installs it")
def test_a_wide_table_is_a_list_with_the_titles_of_its_columns_on_a_phone(site: Path) -> None:
    titles = "[...document.querySelectorAll('table[data-list] td')].slice(0, 6).map((cell) => cell.dataset.title)"
    with Browser() as browser:
        browser.open_page(site / "problems.html", 1280)
        assert browser.run(titles) == []
        browser.open_page(site / "problems.html", 400)
        assert browser.run(titles) == ["short name", "id", "state", "action", "discount", "steps"]


def test_the_site_has_a_dark_theme_and_a_search(site: Path) -> None:
    home = (site / "index.html").read_text()
    assert 'data-md-color-scheme="slate"' in home
    assert 'data-md-component="search"' in home
    assert "Cart-pole swing-up" in (site / "search" / "search_index.json").read_text()


@pytest.mark.skipif(not CHROMIUM, reason="Chromium is not installed; tests/install_browser.sh installs it")
def test_the_search_finds_an_option_with_its_dashes(site: Path) -> None:
    handler = partial(QuietHandler, directory=str(site))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server, Browser() as browser:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        browser.open_url(f"http://127.0.0.1:{server.server_port}/index.html")
        browser.run("document.querySelector('label.md-header__button[for=__search]').click()")
        field = "document.querySelector('input.md-search__input')"
        type_option = f"{field}.focus(); {field}.value = '--quiet'; {field}.dispatchEvent(new KeyboardEvent('keyup'))"
        browser.wait_for(f"{type_option}, document.querySelectorAll('.md-search-result__item').length > 0")
        assert "--quiet" in browser.run("document.querySelector('.md-search-result__list').textContent")
        server.shutdown()


def test_the_home_page_has_pictures_and_no_table(site: Path) -> None:
    home = (site / "index.html").read_text()
    assert len(re.findall(r"<img ", home)) >= 4
    assert "<table>" not in home
