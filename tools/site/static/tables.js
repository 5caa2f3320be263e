/* Tables of the site: a long one has a field that filters its rows, and headings that sort them. */
"use strict";
const LONG = 12;  // rows

/** What a cell sorts by: its number, if it begins with one, else its text. */
function keyOf(row, column) {
  const text = row.cells[column]?.textContent.trim() ?? "";
  const number = /^[+-]?[\d,]*\.?\d+/.exec(text)?.[0].replaceAll(",", "");
  return number === undefined ? text.toLowerCase() : Number(number);
}

function compare(a, b) {
  if (typeof a === typeof b) return a < b ? -1 : Number(a > b);
  return typeof a === "number" ? -1 : 1;
}

function sort(table, heading, column) {
  const isDown = heading.ariaSort === "ascending";
  for (const each of table.tHead.rows[0].cells) each.ariaSort = null;
  heading.ariaSort = isDown ? "descending" : "ascending";
  const rows = [...table.tBodies[0].rows].sort(
    (a, b) => compare(keyOf(a, column), keyOf(b, column)) * (isDown ? -1 : 1));
  table.tBodies[0].append(...rows);
}

for (const table of document.querySelectorAll("article table.docutils")) {
  const rows = [...(table.tBodies[0]?.rows ?? [])];
  if (rows.length < LONG || !table.tHead) continue;
  const field = document.createElement("input");
  field.type = "search";
  field.className = "filter";
  field.placeholder = field.ariaLabel = `Filter ${rows.length} rows`;
  field.oninput = () => {
    const words = field.value.toLowerCase().split(/\s+/);
    for (const row of rows)
      row.hidden = !words.every((word) => row.textContent.toLowerCase().includes(word));
  };
  (table.closest(".table-wrapper") ?? table).before(field);
  [...table.tHead.rows[0].cells].forEach((heading, column) => {
    heading.tabIndex = 0;
    heading.onclick = () => sort(table, heading, column);
    heading.onkeydown = (key) => key.key === "Enter" && sort(table, heading, column);
  });
}
