/* The table of differences between two runs, A and B. */

const GROUPS = {
  time: "Times", busy: "Busy", "critical path": "Critical path", "DMA queue": "DMA queues",
  peak: "Peaks", total: "Totals", instruction: "Instructions", line: "Lines on the critical path",
};
const LINES = 20;

/** Which run is faster, and which parts of the critical path make it so. */
function reasonText(rows) {
  const body = rows.find((row) => row.group === "time" && row.name === "body");
  const change = (row) => (row.second ?? 0) - (row.first ?? 0);
  const by = change(body);
  if (by === 0) return `The bodies of A and B take the same time, ${timeText(body.first)}.`;
  const reasons = rows.filter((row) => row.group === "critical path" && change(row) * by > 0)
    .sort((a, b) => Math.abs(change(b)) - Math.abs(change(a))).slice(0, 3)
    .map((row) => `${row.name} ${timeText(Math.abs(change(row)))} less`);
  const slower = Math.max(body.first, body.second);
  return `${by < 0 ? "B" : "A"} is faster: its body takes ${timeText(Math.abs(by))} ` +
    `(${percent(Math.abs(by) / slower)}) less, on the critical path ${reasons.join(", ")}.`;
}

/** Fills the panel from rows of ../comparison.py; figures that are equal are only counted. */
function fillDifferences(panel, rows) {
  element("p", reasonText(rows), panel);
  for (const [group, heading] of Object.entries(GROUPS)) {
    const all = rows.filter((row) => row.group === group);
    const shown = all.filter((row) => group === "time" || row.first !== row.second);
    if (all.length === 0) continue;
    element("h2", heading, panel);
    if (shown.length) {
      const table = tableOf(panel, ["", "A", "B", "B - A", "B / A"],
        shown.slice(0, group === "line" ? LINES : shown.length).map(differenceRow));
      table.className = "differences";
    }
    const left = all.length - shown.length;
    if (left) element("p", `${left} more, equal in both`, panel, "faint");
    if (group === "line" && shown.length > LINES) {
      element("p", `and ${shown.length - LINES} smaller differences`, panel, "faint");
    }
  }
}

function differenceRow({ name, unit, first, second }) {
  const text = (value) => (value === null ? "" : quantityText(value, unit));
  const change = (second ?? 0) - (first ?? 0);
  const ratio = first && second !== null ? (second / first).toFixed(3) : "";
  return [name, text(first), text(second), (change > 0 ? "+" : "") + quantityText(change, unit), ratio];
}

function quantityText(value, unit) {
  if (unit === "ps") return timeText(value);
  if (unit === "bytes") return bytesText(value);
  const number = Number.isInteger(value) ? String(value) : value.toFixed(1);
  return unit === "" ? number : `${number} ${unit}`;
}
