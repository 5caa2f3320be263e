/* Puts the parts together: sizes, themes, tabs and keyboard. */

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
    this.details = new Details(byId("details"), this);
    this.search = new Search(recordings);
    this.tables = tablesOf(this);
    fillLegend(byId("legend"), recordings);
    for (const recording of recordings) {
      fillHeading(byId("runs"), recording);
      fillSummary(byId("summary"), recording, this.showLine.bind(this));
    }
    this.openTab("summary");
    if (recordings.length > 1) {
      fillDifferences(byId("differences"), differences);
      byId("tab-differences").hidden = false;
      this.openTab("differences");
    }
    this.connectButtons(byId);
    this.connectSearch(byId("search"));
    this.pointer = new Pointer(this, this.canvases);
    connectSplitter(byId("side-splitter"), "--side");
    connectSplitter(byId("memory-splitter"), "--memory");
    byId("memory-splitter").hidden = byId("memory").hidden;
    document.addEventListener("keydown", (key) => this.onKey(key));
    new ResizeObserver(() => this.resize()).observe(byId("view"));
    dark.onchange = () => this.setTheme(dark.matches ? "dark" : "light");
    this.setTheme(document.documentElement.dataset.theme);
    if (location.hash) goTo(this, location.hash);
    window.onhashchange = () => goTo(this, location.hash);
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
    if (location.protocol === "about:") return;  // within a notebook a page has no address
    clearTimeout(this.addressing);  // browsers limit how often an address may change
    this.addressing = setTimeout(() => history.replaceState(null, "", addressOf(this)), 300);
  }

  /** Selects {recording, event}, or nothing with null; `go`: and moves the view there. The open tab
   * of lines stays and shows its line. */
  select(selected, go) {
    this.timeline.selected = selected;
    if (!selected) return this.redraw();
    const { recording, event } = selected;
    this.details.show(selected);
    if (this.tab === "lines") this.showLine(recording, recording.lineOf(event));
    else this.openTab("details");
    document.getElementById("spoken").textContent = this.details.spoken(selected);
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

  /** Opens the tab of lines and scrolls to a line. */
  showLine(recording, source) {
    this.tables.lines.current = recording.tag + source;
    this.openTab("lines");
  }

  /** Marks the instances for which `wanted` is true, like matches of a search. */
  mark(recording, wanted) {
    const { event_instance: instances } = recording.column;
    this.search.mark(this.recordings.map((each) => each === recording
      ? Uint8Array.from(instances, (instance) => (wanted(instance) ? 1 : 0))
      : new Uint8Array(each.events)));
    this.showMatches(`${this.search.found.length} marked`);
  }

  /** Marks what the search field names, and leaves only that in the tables. */
  find() {
    const text = document.getElementById("search").value.trim();
    this.search.find(text);
    for (const table of Object.values(this.tables)) table.filter = text.toLowerCase();
    this.tables[this.tab]?.show();
    this.showMatches(text ? `${this.search.found.length} found` : "");
  }

  showMatches(text) {
    this.timeline.matching = this.search.matching;
    document.getElementById("matches").textContent = text;
    this.redraw();
  }

  /** Chooses a range of time, [from, to) or null, and shows its sums. */
  setRange(range) {
    this.timeline.range = range;
    this.openTab("sums");
    this.redraw();
  }

  setMarkers(times) {
    this.timeline.markers = [...times].sort((a, b) => a - b);
    this.openTab("sums");
    this.redraw();
  }

  openTab(name) {
    this.tab = name;
    for (const tab of document.querySelectorAll("[role=tab]")) {
      const chosen = tab.id === "tab-" + name;
      document.getElementById(tab.getAttribute("aria-controls")).hidden = !chosen;
      tab.setAttribute("aria-selected", String(chosen));
      tab.tabIndex = chosen ? 0 : -1;
    }
    this.tables[name]?.show();
    if (name === "sums") fillSums(document.getElementById("sums"), this);
  }

  connectTabs() {
    const tabs = [...document.querySelectorAll("[role=tab]")];
    for (const tab of tabs) {
      tab.onclick = () => this.openTab(tab.id.slice("tab-".length));
      tab.onkeydown = (key) => {
        const by = { ArrowLeft: -1, ArrowRight: 1 }[key.key];
        if (!by) return;
        key.stopPropagation();
        const shown = tabs.filter((each) => !each.hidden);
        const next = shown[(shown.indexOf(tab) + by + shown.length) % shown.length];
        next.click();
        next.focus();
      };
    }
  }

  connectButtons(byId) {
    byId("fit").onclick = () => this.onAction("0");
    byId("fit-selection").onclick = () => this.onAction("f");
    byId("path").onclick = () => this.onAction("p");
    byId("theme").onclick = () => this.onAction("t");
    byId("picture").onclick = async () => save("timeline.png", await picture(this));
    this.connectTabs();
  }

  connectSearch(input) {
    input.oninput = () => this.find();
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
      m: () => this.setMarkers([
        ...timeline.markers, this.pointer.time ?? (timeline.from + timeline.to) / 2]),
      "/": () => document.getElementById("search").focus(),
      Escape: () => {
        this.select(null);
        this.find();
      },
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
