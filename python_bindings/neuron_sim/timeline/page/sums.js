/* The tab "Sums": what engines, queues and counters do in a range of time, else in the whole body. */

/** Sums over [from, to): `busy` by engine as in Recording.busy, and `queues` by name. Of a step or
 * transfer that the range cuts, the part of its time counts. */
function sumsOf(recording, from, to) {
  const { column, names } = recording;
  const cut = (start, end) => {
    if (end === start) return start >= from && start < to ? 1 : 0;
    return Math.max(Math.min(end, to) - Math.max(start, from), 0) / (end - start);
  };
  const busy = Object.fromEntries(Object.keys(recording.busy).map((name) => [name, 0]));
  const queues = new Map();
  for (let i = 0; i < recording.events; ++i) {
    const share = cut(column.event_start[i], column.event_end[i]);
    if (share === 0) continue;
    const { engine, operands } = names.instructions[recording.instructionOf(i)];
    if (column.event_busy[i] > 0) busy[engine] += column.event_busy[i] * share;
    if (column.event_kind[i] !== KIND.transfer) continue;
    const { group } = names.tracks[column.event_track[i]];
    if (!queues.has(group)) {
      queues.set(group, { transfers: 0, bytes: 0, first: Infinity, last: 0, tensors: new Set() });
    }
    const queue = queues.get(group);
    ++queue.transfers;
    queue.bytes += column.event_bytes[i] * share;
    queue.first = Math.min(queue.first, Math.max(column.event_start[i], from));
    queue.last = Math.max(queue.last, Math.min(column.event_end[i], to));
    for (const { text, writes } of operands) {
      if (!text?.endsWith(" hbm")) continue;
      queue.tensors.add((writes ? "writes " : "reads ") + text.split(" [")[0]);
    }
  }
  column.share_busy.forEach((time, i) => {
    busy.DMA += time * cut(column.share_start[i], column.share_end[i]);
  });
  return { busy, queues };
}

function fillSums(panel, page) {
  const { timeline, recordings } = page;
  panel.replaceChildren();
  element("p", "Shift + drag over the lanes, or a drag along the axis, chooses a range.", panel,
    "faint");
  if (timeline.range) {
    const [from, to] = timeline.range;
    element("p", `From ${timeText(from)} to ${timeText(to)}: ${timeText(to - from)}`, panel);
  }
  const bar = element("p", undefined, panel, "buttons");
  const button = (text, action) => { element("button", text, bar).onclick = action; };
  button("CSV of events", () => save("events.csv", eventsCsv(page)));
  if (timeline.range) {
    button("Zoom", () => { timeline.show(...timeline.range); page.redraw(); });
    button("Whole body", () => page.setRange(null));
  }
  for (const recording of recordings) fillSumsOf(panel, recording, page);
  if (page.timeline.markers.length) fillMarkers(panel, page);
}

function fillSumsOf(panel, recording, page) {
  const [from, to] = page.timeline.range ?? [0, recording.body];
  const { busy, queues } = sumsOf(recording, from, to);
  const heading = (text) => element("h2", tagged(recording, text), panel);
  heading("Busy");
  tableOf(panel, ["", "busy", "of the range"], Object.entries(busy).map(([name, time]) => {
    const units = unitsOf(recording, name);
    return [unitsTitle(name, units, "range"), timeText(time), percent(time / ((to - from) * units || 1))];
  }));
  heading("DMA queues");
  for (const [name, { transfers, bytes, first, last, tensors }] of queues) {
    element("h3", name, panel);
    tableOf(panel, [], [
      ["transfers", String(transfers)],
      ["bytes", bytesText(Math.round(bytes))],
      ["from its first to its last", `${timeText(first)} to ${timeText(last)}`],
      ["rate in that time", `${(bytes / (last - first || 1) * 1e3).toFixed(1)} GB/s`],
      ["in HBM", [...tensors].slice(0, 12).join(", ")],
    ]).className = "facts";
  }
  if (queues.size === 0) element("p", "no transfer", panel);
  heading("At most");
  const counters = page.timeline.rows.filter(
    (row) => row.kind === "counter" && row.recording === recording);
  tableOf(panel, [], counters.map((row) => {
    return [row.name, valueText(row.steps.largest(from, to), row.unit)];
  }));
}

function fillMarkers(panel, page) {
  const { markers } = page.timeline;
  element("h2", "Markers", panel);
  const table = tableOf(panel, ["", "at", "since the one before", ""], markers.map((time, i) => {
    const button = document.createElement("button");
    button.textContent = "Remove";
    button.onclick = () => page.setMarkers(markers.filter((each) => each !== time));
    return [String(i + 1), timeText(time), i ? timeText(time - markers[i - 1]) : "", button];
  }));
  table.className = "facts";
}

const EVENT_COLUMNS = [["run", "words"], ["event", "words"], ["instance", "count"],
  ["track", "words"], ["start", "time"], ["end", "time"], ["busy", "time"], ["moved", "bytes"],
  ["line", "place"]];

/** The events that the range touches, else all. */
function eventsCsv({ timeline, recordings }) {
  const rows = [];
  for (const recording of recordings) {
    const [from, to] = timeline.range ?? [-Infinity, Infinity];
    const c = recording.column;
    for (let i = 0; i < recording.events; ++i) {
      if (c.event_end[i] < from || c.event_start[i] >= to) continue;
      rows.push([recording.tag, recording.nameOf(i), c.event_instance[i],
        recording.names.tracks[c.event_track[i]].name, c.event_start[i], c.event_end[i],
        c.event_busy[i], c.event_bytes[i], recording.lineOf(i)]);
    }
  }
  return csvOf(EVENT_COLUMNS, rows);
}
