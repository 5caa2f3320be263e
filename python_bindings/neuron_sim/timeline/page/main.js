/* Puts the parts together: sizes, themes, mouse and keyboard. */

const TABS = ["differences", "summary", "details", "help"];

/** The page of one recording, or of two with rows of differences. */
class Page {
  constructor(recordings, differences) {
    this.recordings = recordings;
    const byId = (id) => document.getElementById(id);
    this.canvases = ["minimap", "lanes", "memory"].map(byId);
    this.timeline = new Timeline(byId("lanes"), recordings, buildRows(recordings));
    this.minimap = new Minimap(byId("minimap"), this.timeline);
    this.memory = new MemoryMap(byId("memory"), this.timeline, recordings);
    byId("memory").hidden = this.memory.memories.length === 0;
    document.body.classList.toggle("two-runs", recordings.length > 1);
    this.details = new Details(byId("details"), (selected, go) => this.select(selected, go));
    this.search = new Search(recordings);
    this.tip = byId("tip");
    fillLegend(byId("legend"), recordings);
    for (const recording of recordings) {
      fillHeading(byId("runs"), recording);
      fillSummary(byId("summary"), recording);
    }
    if (recordings.length > 1) {
      fillDifferences(byId("differences"), differences);
      byId("tab-differences").hidden = false;
      this.openTab("differences");
    }
    this.connectButtons(byId);
    this.connectLanes(byId("lanes"));
    this.connectMinimap(byId("minimap"));
    this.connectMemory(byId("memory"));
    document.addEventListener("keydown", (key) => this.onKey(key));
    new ResizeObserver(() => this.resize()).observe(byId("view"));
    dark.onchange = () => this.setTheme(dark.matches ? "dark" : "light");
    this.setTheme(document.documentElement.dataset.theme);
  }

  setTheme(theme) {
    document.documentElement.dataset.theme = theme;
    const values = getComputedStyle(document.documentElement);
    const names = ["back", "raised", "line", "text", "faint", "accent", "wait", "grid"];
    this.timeline.style = Object.fromEntries(
      names.map((name) => [name, values.getPropertyValue("--" + name).trim()]));
    this.resize();
  }

  resize() {
    const ratio = devicePixelRatio || 1;
    for (const canvas of this.canvases) {
      canvas.width = Math.round(canvas.clientWidth * ratio);
      canvas.height = Math.round(canvas.clientHeight * ratio);
      canvas.getContext("2d").setTransform(ratio, 0, 0, ratio, 0, 0);
    }
    this.minimap.picture = null;
    this.timeline.scrollBy(0);
    this.draw();
  }

  /** Draws before the next frame, once however often it is asked. */
  redraw() {
    if (this.pending) return;
    this.pending = true;
    requestAnimationFrame(() => this.draw());
  }

  draw() {
    this.pending = false;
    this.timeline.draw();
    this.minimap.draw();
    if (this.memory.memories.length) this.memory.draw();
  }

  /** Selects {recording, event}, or nothing with null; `go`: and moves the view there. */
  select(selected, go) {
    this.timeline.selected = selected;
    if (!selected) return this.redraw();
    const { recording, event } = selected;
    this.details.show(selected);
    this.openTab("details");
    const { event_start: start, event_end: end } = recording.column;
    const { from, to } = this.timeline;
    if (go && (end[event] < from || start[event] > to)) {
      const middle = (start[event] + end[event]) / 2;
      this.timeline.show(middle - (to - from) / 2, middle + (to - from) / 2);
    }
    if (go) this.scrollTo(selected);
    this.redraw();
  }

  scrollTo({ recording, event }) {
    const row = this.timeline.rowOf(recording, event);
    if (!row) return;
    const shown = this.timeline.canvas.clientHeight - RULER;
    if (row.top < this.timeline.scroll) this.timeline.scrollBy(row.top - this.timeline.scroll);
    const below = row.top + row.height - this.timeline.scroll - shown;
    if (below > 0) this.timeline.scrollBy(below);
  }

  zoomToSelected() {
    if (!this.timeline.selected) return;
    const { recording, event } = this.timeline.selected;
    const { event_start: start, event_end: end } = recording.column;
    const span = Math.max(end[event] - start[event], 1000);
    this.timeline.show(start[event] - span, end[event] + span);
    this.redraw();
  }

  step(by) {
    if (!this.timeline.selected) return;
    const { recording, event } = this.timeline.selected;
    const row = this.timeline.rowOf(recording, event);
    const at = row ? row.lane.items.indexOf(event) + by : -1;
    if (at >= 0 && at < row.lane.items.length) {
      this.select({ recording, event: row.lane.items[at] }, true);
    }
  }

  openTab(name) {
    for (const tab of TABS) {
      document.getElementById(tab).hidden = tab !== name;
      document.getElementById("tab-" + tab).setAttribute("aria-selected", String(tab === name));
    }
  }

  connectButtons(byId) {
    byId("fit").onclick = () => this.onAction("0");
    byId("fit-selection").onclick = () => this.onAction("f");
    byId("path").onclick = () => this.onAction("p");
    byId("theme").onclick = () => this.onAction("t");
    for (const tab of TABS) {
      byId("tab-" + tab).onclick = () => this.openTab(tab);
    }
    const input = byId("search");
    input.oninput = () => {
      this.search.find(input.value);
      this.timeline.matching = this.search.matching;
      byId("matches").textContent = input.value.trim() ? `${this.search.found.length} found` : "";
      this.redraw();
    };
    input.onkeydown = (key) => {
      key.stopPropagation();
      if (key.key === "Escape") {
        input.value = "";
        input.oninput();
        input.blur();
      }
      if (key.key !== "Enter") return;
      const found = this.search.next(this.timeline.selected, key.shiftKey ? -1 : 1);
      if (found) this.select(found, true);
    };
  }

  connectLanes(canvas) {
    const { timeline } = this;
    canvas.addEventListener("wheel", (wheel) => {
      wheel.preventDefault();
      if (wheel.shiftKey) timeline.scrollBy(wheel.deltaY || wheel.deltaX);
      else if (Math.abs(wheel.deltaX) > Math.abs(wheel.deltaY)) {
        timeline.pan(wheel.deltaX / timeline.width);
      } else timeline.zoom(1.0015 ** wheel.deltaY, timeline.timeAt(wheel.offsetX));
      this.redraw();
    }, { passive: false });
    let drag = null;
    canvas.onpointerdown = (point) => {
      canvas.setPointerCapture(point.pointerId);
      drag = { x: point.offsetX, y: point.offsetY, moved: 0 };
    };
    canvas.onpointermove = (point) => {
      if (!drag) return this.showTip(point, this.tipAt(point.offsetX, point.offsetY));
      const [x, y] = [point.offsetX - drag.x, point.offsetY - drag.y];
      drag.moved += Math.abs(x) + Math.abs(y);
      timeline.pan(-x / timeline.width);
      timeline.scrollBy(-y);
      drag.x = point.offsetX;
      drag.y = point.offsetY;
      this.redraw();
    };
    canvas.onpointerup = (point) => {
      const clicked = drag && drag.moved < 4;
      drag = null;
      if (clicked) this.click(point.offsetX, point.offsetY);
    };
    canvas.onpointerleave = () => { this.tip.hidden = true; };
    canvas.ondblclick = () => this.zoomToSelected();
  }

  click(x, y) {
    const row = this.timeline.rowAt(y);
    if (row?.kind === "group" && x < GUTTER) {
      turnGroup(row);
      this.timeline.layOut();
      this.timeline.scrollBy(0);
      return this.redraw();
    }
    this.select(this.timeline.eventAt(x, y), false);
  }

  connectMinimap(canvas) {
    const move = (point) => {
      if (point.buttons === 0) return;
      const { from, to } = this.timeline;
      const middle = this.minimap.timeAt(point.offsetX);
      this.timeline.show(middle - (to - from) / 2, middle + (to - from) / 2);
      this.redraw();
    };
    canvas.onpointerdown = (point) => {
      canvas.setPointerCapture(point.pointerId);
      move(point);
    };
    canvas.onpointermove = move;
  }

  connectMemory(canvas) {
    canvas.onpointermove = (point) => {
      this.showTip(point, this.memory.textAt(point.offsetX, point.offsetY));
    };
    canvas.onpointerleave = () => { this.tip.hidden = true; };
  }

  tipAt(x, y) {
    const row = this.timeline.rowAt(y);
    if (row?.kind === "counter" && x > GUTTER) {
      return `${row.name}: ${valueText(row.steps.at(this.timeline.timeAt(x)), row.unit)}`;
    }
    const under = this.timeline.eventAt(x, y);
    if (!under) return "";
    const { recording, event } = under;
    const c = recording.column;
    const waits = row.kind === "waits" ? "waits for its start: " : "";
    const lasts = timeText(c.event_end[event] - c.event_start[event]);
    const source = recording.lineOf(event);
    return [`${waits}${recording.nameOf(event)}, ${lasts}`, source, recording.lines[source]]
      .filter(Boolean).join("\n");
  }

  showTip(point, text) {
    this.tip.hidden = text === "";
    this.tip.textContent = text;
    const left = Math.min(point.clientX + 14, innerWidth - 430);
    this.tip.style.left = left + "px";
    this.tip.style.top = Math.min(point.clientY + 14, innerHeight - 90) + "px";
  }

  onKey(key) {
    if (key.ctrlKey || key.metaKey || key.altKey || key.target.tagName === "INPUT") return;
    if (this.onAction(key.key.length === 1 ? key.key.toLowerCase() : key.key)) key.preventDefault();
  }

  /** What a key does; false for one without a meaning. */
  onAction(key) {
    const { timeline } = this;
    const actions = {
      "+": () => timeline.zoom(0.7), "=": () => timeline.zoom(0.7), w: () => timeline.zoom(0.7),
      "-": () => timeline.zoom(1 / 0.7), s: () => timeline.zoom(1 / 0.7),
      ArrowLeft: () => timeline.pan(-0.15), a: () => timeline.pan(-0.15),
      ArrowRight: () => timeline.pan(0.15), d: () => timeline.pan(0.15),
      ArrowUp: () => timeline.scrollBy(-60), ArrowDown: () => timeline.scrollBy(60),
      "[": () => this.step(-1), "]": () => this.step(1),
      "0": () => timeline.show(timeline.start, timeline.end),
      f: () => this.zoomToSelected(),
      p: () => {
        timeline.marksPath = !timeline.marksPath;
        document.getElementById("path").setAttribute("aria-pressed", String(timeline.marksPath));
      },
      t: () => {
        dark.onchange = null;  // who chooses a theme keeps it
        this.setTheme(document.documentElement.dataset.theme === "dark" ? "light" : "dark");
      },
      "/": () => document.getElementById("search").focus(),
      Escape: () => this.select(null),
    };
    if (!(key in actions)) return false;
    actions[key]();
    this.redraw();
    return true;
  }
}

async function open() {
  const elements = [...document.querySelectorAll("script.recording")];
  const unpacked = await Promise.all(elements.map(unpack));
  const tags = unpacked.length > 1 ? ["A", "B"] : [""];
  const recordings = unpacked.map((each, i) => new Recording(...each, tags[i]));
  const differences = JSON.parse(document.getElementById("differences-data").textContent);
  window.page = new Page(recordings, differences);
  document.documentElement.dataset.ready = String(Math.round(performance.now()));
}

open();
