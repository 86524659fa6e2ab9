// A table that is too wide for its place, or that has very tall rows on a phone, becomes a list: its rows are one below
// the other, and each cell is on lines of its own, after the title of its column. site.css styles it ([data-list]).
const PHONE = 600, TALL_ROW = 180;  // pixels

function fits(table) {
  const place = (table.closest(".md-typeset__scrollwrap") ?? table).parentElement.clientWidth;
  if (Math.max(table.offsetWidth, table.scrollWidth) > place + 1) return false;
  return place > PHONE || Array.from(table.rows).every((row) => row.offsetHeight <= TALL_ROW);
}

const tables = Array.from(document.querySelectorAll(".md-content table:not([class])"));
for (const table of tables) {
  const titles = Array.from(table.tHead.rows[0].cells, (cell) => cell.textContent.trim());
  for (const row of table.tBodies[0].rows) {
    titles.forEach((title, column) => { row.cells[column].dataset.title = title; });
  }
}

function arrange() {
  for (const table of tables) table.removeAttribute("data-list");
  for (const table of tables.filter((table) => !fits(table))) table.setAttribute("data-list", "");
}

arrange();
addEventListener("load", arrange);
addEventListener("resize", arrange);
