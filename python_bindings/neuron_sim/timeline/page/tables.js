/* Tables that are sorted by any column, filtered by text, picked row by row, and written as CSV. */

/** How a cell of each kind reads, and what CSV has of it. */
const CELLS = {
  time: { text: timeText, plain: (value) => (value / 1e6).toFixed(6), unit: " (us)" },
  bytes: { text: (value) => bytesText(Math.round(value)), plain: Math.round, unit: " (bytes)" },
  count: { text: String, plain: String, unit: "" },
  words: { text: String, plain: String, unit: "" },
  place: { text: String, plain: String, unit: "" },
  code: { text: String, plain: String, unit: "" },
};
const isText = (kind) => ["words", "place", "code"].includes(kind);
const MOST_ROWS = 1000;  // as many as a browser lays out at once

/** Saves text or a blob as a file of the reader. */
function save(name, content) {
  const link = document.createElement("a");
  const address = URL.createObjectURL(content instanceof Blob ? content : new Blob([content]));
  Object.assign(link, { href: address, download: name });
  link.click();
  URL.revokeObjectURL(address);
}

/** CSV with a heading; `columns` are pairs of heading and kind, cells that are null stay empty. */
function csvOf(columns, rows) {
  const quoted = (text) => (/[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);
  const lines = [columns.map(([heading, kind]) => quoted(heading + CELLS[kind].unit))];
  for (const cells of rows) {
    lines.push(cells.map((cell, i) =>
      (cell === null ? "" : quoted(String(CELLS[columns[i][1]].plain(cell))))));
  }
  return lines.map((line) => line.join(",") + "\n").join("");
}

class SortableTable {
  /** `columns`: pairs of heading and kind. `make()`: the rows, made when they are first shown:
   * `cells`, `pick()` for a click, `key`, and `context` for one that only the order of lines shows. */
  constructor(panel, name, columns, make) {
    Object.assign(this, { panel, name, columns, make, filter: "", current: null });
    this.sort = { column: columns.findIndex(([, kind]) => kind === "time"), falls: true };
  }

  sorted() {
    const { column, falls } = this.sort;
    const order = isText(this.columns[column][1])
      ? (a, b) => a.localeCompare(b, undefined, { numeric: true })
      : (a, b) => (a ?? -1) - (b ?? -1);
    const text = ({ cells }) =>
      cells.filter((cell) => typeof cell === "string").join(" ").toLowerCase();
    return this.rows
      .filter((row) => (!row.context || column === 0) && text(row).includes(this.filter))
      .sort((a, b) => (falls ? -1 : 1) * order(a.cells[column], b.cells[column]));
  }

  show() {
    this.rows ??= this.make();
    const rows = this.sorted();
    this.panel.replaceChildren();
    const line = element("p", `${rows.length} rows`, this.panel, "faint");
    if (this.rows.length === 0 && this.name === "lines") {
      line.append(": its instructions name no lines, as those of torch's operators");
    }
    if (rows.length > MOST_ROWS) line.append(`, ${MOST_ROWS} of them shown: sort or search`);
    const button = element("button", "CSV", line);
    button.onclick = () =>
      save(`${this.name}.csv`, csvOf(this.columns, rows.map((row) => row.cells)));
    const table = element("table", undefined, this.panel, "sortable");
    table.createTHead().insertRow();
    this.columns.forEach(([heading, kind], i) => kind === "code" || this.addHeading(table, heading, i));
    for (const row of rows.slice(0, MOST_ROWS)) this.addRow(table, row);
    table.querySelector("[aria-current]")?.scrollIntoView({ block: "nearest" });
  }

  addHeading(table, heading, column) {
    const { sort } = this;
    const kind = this.columns[column][1];
    const cell = element("th", undefined, table.tHead.rows[0], kind);
    cell.scope = "col";
    const sorts = sort.column === column;
    cell.ariaSort = sorts ? (sort.falls ? "descending" : "ascending") : "none";
    const button = element("button", heading + (sorts ? (sort.falls ? " ▾" : " ▴") : ""), cell);
    button.onclick = () => {
      this.sort = { column, falls: sorts ? !sort.falls : !isText(kind) };
      this.show();
      this.panel.querySelectorAll("th button")[column].focus();
    };
  }

  /** A row; figures of a line of code stand below it. */
  addRow(table, row) {
    const body = element("tbody", undefined, table);
    let line = element("tr", undefined, body);
    const code = this.columns.findIndex(([, kind]) => kind === "code");
    row.cells.forEach((value, i) => {
      const kind = this.columns[i][1];
      if (i === code || (row.context && i > 0)) return;
      element("td", value === null ? "" : CELLS[kind].text(value), line, kind);
      if (i > 0 || code < 0) return;
      const cell = element("td", undefined, line);
      cell.colSpan = code - 1;
      element("code", this.sort.column === 0 ? row.cells[code] : row.cells[code].trimStart(), cell);
      if (!row.context) element("td", undefined, line = element("tr", undefined, body));
    });
    if (row.key === this.current) body.setAttribute("aria-current", "true");
    if (!row.pick) return;
    body.tabIndex = 0;
    body.onclick = () => {
      this.current = row.key;
      table.querySelector("[aria-current]")?.removeAttribute("aria-current");
      body.setAttribute("aria-current", "true");
      row.pick();
    };
    body.onkeydown = (key) => key.key === "Enter" && body.onclick();
  }
}
