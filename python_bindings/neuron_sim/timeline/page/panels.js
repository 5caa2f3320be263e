/* The side panel: the run as a whole, and the selected instruction. */

function element(name, text, parent, className) {
  const made = document.createElement(name);
  if (text !== undefined) made.textContent = text;
  if (className) made.className = className;
  parent?.append(made);
  return made;
}

const NUMBER = /^[-+]?[\d.]+( ?(%|ns|us|ms|B|KiB|MiB|GB\/s|transfers))?$/;
const isNumber = (cell) => typeof cell === "string" && NUMBER.test(cell);

/** A table; cells that read as numbers, and the headings above them, are on the right. */
function tableOf(parent, heading, rows) {
  const table = element("table", undefined, parent);
  const line = heading.length ? element("tr", undefined, table) : undefined;
  heading.forEach((text, i) => {
    element("th", text, line, isNumber(rows[0]?.[i]) ? "number" : "");
  });
  for (const row of rows) {
    const made = element("tr", undefined, table);
    for (const cell of row) element("td", undefined, made, isNumber(cell) ? "number" : "").append(cell);
  }
  return table;
}

const percent = (share) => (share * 100).toFixed(1) + " %";

const durationOf = (recording, phase) => recording.phases[phase][1] - recording.phases[phase][0];

/** The line of a run above the timeline: its name, times and size. */
function fillHeading(heading, recording) {
  const line = element("div", undefined, heading, "run");
  const title = tagged(recording, recording.title);
  element("h1", title, line).title = title;
  const times = ["total_time", "body"].map((name) => {
    return `${name} ${timeText(durationOf(recording, name))}`;
  });
  element("span", [...times, recording.architecture, `${recording.instances} instructions`,
    `${recording.events} events`].join(" · "), line);
}

/** Over how many units, DMA engines or cores, a busy time is a sum. */
const unitsOf = ({ busy, utilisation, body }, name) =>
  Math.round(busy[name] / (utilisation[name] * body)) || 1;

const unitsTitle = (name, units, span) => (units === 1 ? name
  : `${name}, ${units} ${name === "DMA" ? "engines" : "cores"}: share of ${units} x ${span}`);

/** A link to a line of the source; `go` shows it. */
function lineLink(source, go) {
  const link = element("a", source);
  link.tabIndex = 0;
  link.onclick = () => go(source);
  link.onkeydown = (key) => key.key === "Enter" && link.onclick();
  return link;
}

function fillSummary(panel, recording, showLine) {
  const phase = (name) => durationOf(recording, name);
  if (recording.tag) element("h2", `${recording.tag}: ${recording.title}`, panel);
  const { changes } = recording.advice;
  if (changes) fillChanges(panel, changes, (source) => showLine(recording, source));
  element("h2", "What bounds it", panel);
  element("p", recording.advice.bound, panel);
  element("p", recording.advice.roofline, panel);
  element("h2", "Times", panel);
  tableOf(panel, [], [
    ["body: first instruction to last completion", timeText(phase("body"))],
    ["nc_latency, as the vendor's benchmark reports it", timeText(phase("nc_latency"))],
    ["total_time, as the vendor's profiler reports it", timeText(phase("total_time"))],
  ]);
  const rows = Object.entries(recording.busy).map(([name, time]) => {
    const share = recording.utilisation[name];
    const units = unitsOf(recording, name);
    const bar = element("div", undefined, undefined, "bar");
    bar.style.width = share * 110 + "px";
    return [unitsTitle(name, units, "body"), timeText(time), percent(share), bar];
  });
  if (rows.length) element("h2", "Busy", panel);
  tableOf(panel, rows.length ? ["", "busy", "of the body", ""] : [], rows);
  element("h2", "Critical path", panel);
  const parts = Object.entries(recording.path).sort((a, b) => b[1] - a[1]);
  tableOf(panel, [], parts.map(([name, time]) => {
    return [name, timeText(time), percent(recording.body ? time / recording.body : 0)];
  }));
  fillAdvice(panel, recording.advice);
}

const LEAST_SAVED = 0.01; // changes.py

function fillChanges(panel, changes, showLine) {
  element("h2", "What to change", panel);
  if (changes.length === 0) element("p", "No change that was tried saves 1 %.", panel);
  for (const change of changes) {
    const paragraph = element("p", undefined, panel);
    element("b", change.title, paragraph);
    paragraph.append(` (saves ${percent(change.saved)}, to ${timeText(change.body_us * 1e6)}): ` +
      `${change.write} Then the wall is ${change.next_wall}. `);
    if (change.line) paragraph.append(lineLink(change.line, showLine), " ");
    const lesson = element("a", "Why", paragraph);
    lesson.setAttribute("href", change.link);
    lesson.title = change.lesson;
  }
}

function fillAdvice(panel, advice) {
  if (advice.what_if.length === 0) return;  // spans.py: nothing was timed again
  element("h2", "Twice as fast", panel);
  const faster = advice.what_if.filter((each) => each.saved >= LEAST_SAVED);
  if (faster.length === 0) element("p", "No resource alone saves 1 %.", panel);
  else tableOf(panel, ["resource", "body", "saved"], faster.map((each) => {
    return [each.resource, timeText(each.body_us * 1e6), percent(each.saved)];
  }));
  element("h2", "Published limits", panel);
  if (advice.findings.length === 0) element("p", "No threshold is passed.", panel);
  for (const finding of advice.findings) {
    const paragraph = element("p", undefined, panel);
    element("b", finding.title + ". ", paragraph);
    paragraph.append(finding.text);
    element("div", finding.source, paragraph, "faint");
  }
}

const CAUSES = [
  "nothing: the start of the program", "its engine was at work on", "it waited for the completion of",
  "it follows", "its DMA ring was at work on",
];

class Details {
  constructor(panel, page) {
    this.panel = panel;
    this.select = (selected, go) => page.select(selected, go);
    this.showLine = (recording, source) => page.showLine(recording, source);
  }

  link(event) {
    const { recording } = this;
    const link = element("a", recording.nameOf(event) + " #" +
      recording.column.event_instance[event]);
    link.tabIndex = 0;
    link.onclick = () => this.select({ recording, event }, true);
    link.onkeydown = (key) => key.key === "Enter" && link.onclick();
    return link;
  }

  /** An event in one sentence, for screen readers. */
  spoken({ recording, event }) {
    const { event_start: start, event_end: end, event_track: track } = recording.column;
    return `${recording.nameOf(event)}, ${recording.names.tracks[track[event]].name}, from ` +
      `${timeText(start[event])} for ${timeText(end[event] - start[event])}`;
  }

  show({ recording, event }) {
    this.recording = recording;
    const { panel } = this;
    const c = recording.column;
    const instance = c.event_instance[event];
    const instruction = recording.names.instructions[recording.instructionOf(event)];
    panel.replaceChildren();
    element("h2", tagged(recording, `${recording.nameOf(event)} #${instance}`), panel);
    const rows = [
      ["track", recording.names.tracks[c.event_track[event]].name],
      ["start", timeText(c.event_start[event])],
      ["end", timeText(c.event_end[event])],
      ["duration", timeText(c.event_end[event] - c.event_start[event])],
      ["result visible", timeText(c.event_done[event])],
    ];
    if (c.event_bytes[event] > 0) rows.push(["bytes", String(c.event_bytes[event])]);
    if (instruction.source) {
      const go = (source) => this.showLine(recording, source);
      rows.push(["line", lineLink(instruction.source, go)]);
    }
    const code = recording.lines[instruction.source];
    if (code) rows.push(["code", element("code", code)]);
    rows.push(["critical path", recording.onPath[event] ? "yes" : "no"]);
    tableOf(panel, [], rows).className = "facts";
    this.showOperands(instance, instruction);
    this.showCause(event, instance);
    this.showWaits(instance);
    this.showConsumers(instance);
  }

  showOperands(instance, instruction) {
    const c = this.recording.column;
    element("h2", "Operands", this.panel);
    const rows = [];
    instruction.operands.forEach((operand, i) => {
      if (!operand.text) return;
      const at = c.instance_first_location[instance] + i;
      const tile = this.recording.names.tiles[c.location_tile[at]];
      const byte = c.location_offset[at];  // on chip: of the partition
      const place = tile.memory === "hbm"
        ? `byte ${byte} of ${tile.label}`
        : `partition ${c.location_partition[at]}, byte ${byte}`;
      const how = operand.reads ? (operand.writes ? "reads, writes" : "reads") : "writes";
      rows.push([operand.name, operand.text, place, how]);
    });
    tableOf(this.panel, ["", "tile", "address", ""], rows);
  }

  showCause(event, instance) {
    const c = this.recording.column;
    element("h2", "Why it starts then", this.panel);
    const waited = c.instance_start[instance] - c.instance_ready[instance];
    const cause = element("p", CAUSES[c.event_cause_kind[event]] + " ", this.panel);
    if (c.event_cause[event] !== NONE) cause.append(this.link(c.event_cause[event]));
    element("p", waited > 0
      ? `Its engine stood ready since ${timeText(c.instance_ready[instance])}, ` +
        `for ${timeText(waited)}.`
      : "Its engine did not wait.", this.panel);
  }

  showWaits(instance) {
    const c = this.recording.column;
    element("h2", "It waited for", this.panel);
    const rows = this.recording.waitsOf(instance).map((wait) => {
      const event = c.wait_event[wait];
      return [
        event === NONE ? this.recording.names.slots[c.wait_slot[wait]] : this.link(event),
        timeText(c.wait_completion[wait]), timeText(c.wait_released[wait]),
        wait === c.instance_bound[instance] ? "last" : "",
      ];
    });
    if (rows.length) tableOf(this.panel, ["", "complete", "seen", ""], rows);
    else element("p", "nothing that it had not seen already", this.panel);
  }

  showConsumers(instance) {
    const { recording, panel } = this;
    const waits = [];
    for (const event of recording.eventsOfInstance.of(instance)) {
      waits.push(...recording.waitsOnEvent.of(event));
    }
    element("h2", "Waited for by", panel);
    if (waits.length === 0) element("p", "nobody", panel);
    const most = 50;
    for (const wait of waits.slice(0, most)) {
      const line = element("div", undefined, panel);
      line.append(this.link(recording.mainEvent(recording.instanceOfWait(wait))));
    }
    if (waits.length > most) element("p", `and ${waits.length - most} more`, panel);
  }
}
