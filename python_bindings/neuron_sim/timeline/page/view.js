/* The view as an address, as a picture, and the sizes of its panes. */

/** What is shown, as the fragment of the address. */
function addressOf(page) {
  const { timeline } = page;
  const state = { view: [timeline.from, timeline.to].map(Math.round), tab: page.tab };
  const selected = timeline.selected;
  if (selected) state.event = [page.recordings.indexOf(selected.recording), selected.event];
  if (timeline.range) state.range = timeline.range.map(Math.round);
  if (timeline.markers.length) state.markers = timeline.markers.map(Math.round);
  const text = document.getElementById("search").value;
  if (text) state.find = text;
  return "#" + new URLSearchParams(state).toString();
}

/** Shows what an address says, as far as this page has it. */
function goTo(page, address) {
  const state = new URLSearchParams(address.slice(1));
  const numbers = (name) => (state.get(name) ?? "").split(",").filter(Boolean).map(Number)
    .filter(Number.isFinite);
  const [run, event] = numbers("event");
  const recording = page.recordings[run];
  if (event < recording?.events) page.select({ recording, event }, false);
  const view = numbers("view");
  if (view[1] > view[0]) page.timeline.show(...view);
  const range = numbers("range");
  page.timeline.range = range[1] > range[0] ? range : null;
  page.timeline.markers = numbers("markers");
  document.getElementById("search").value = state.get("find") ?? "";
  page.find();
  const tab = document.getElementById("tab-" + state.get("tab"));
  if (tab && !tab.hidden) page.openTab(state.get("tab"));
  page.redraw();
}

/** The canvases below each other with title and legend, as a PNG. */
function picture(page) {
  const ratio = devicePixelRatio || 1;
  const shown = page.canvases.filter((canvas) => !canvas.hidden);
  const heading = 52 * ratio;
  const height = shown.reduce((sum, canvas) => sum + canvas.height, heading);
  const made = new OffscreenCanvas(shown[0].width, height);
  const ctx = made.getContext("2d");
  const { style } = page.timeline;
  ctx.fillStyle = style.back;
  ctx.fillRect(0, 0, made.width, made.height);
  let top = heading;
  for (const canvas of shown) {
    ctx.drawImage(canvas, 0, top);
    top += canvas.height;
  }
  ctx.scale(ratio, ratio);
  ctx.fillStyle = style.text;
  ctx.font = "600 13px system-ui, sans-serif";
  ctx.fillText(document.title, 6, 20);
  ctx.font = "11px system-ui, sans-serif";
  let left = 6;
  for (const entry of document.querySelectorAll("#legend li")) {
    ctx.fillStyle = getComputedStyle(entry.firstChild).backgroundColor;
    ctx.fillRect(left, 32, 12, 10);
    ctx.fillStyle = style.text;
    ctx.fillText(entry.textContent, left + 16, 41);
    left += 30 + ctx.measureText(entry.textContent).width;
  }
  return made.convertToBlob();
}

/** A handle that changes the size `property` of the pane after it, by dragging and by arrow keys. */
function connectSplitter(handle, property) {
  const parent = handle.parentElement;
  const pane = handle.nextElementSibling;
  const isRow = () => getComputedStyle(parent).flexDirection === "row";
  const sizeOf = (each) => (isRow() ? each.offsetWidth : each.offsetHeight);
  const resize = (by) => {
    const size = Math.min(Math.max(sizeOf(pane) + by, 80), sizeOf(parent) - 200);
    document.documentElement.style.setProperty(property, size + "px");
    handle.ariaValueNow = String(Math.round((100 * size) / sizeOf(parent)));
  };
  const place = (point) => (isRow() ? point.clientX : point.clientY);
  let last = null;
  handle.onpointerdown = (point) => {
    handle.setPointerCapture(point.pointerId);
    last = place(point);
  };
  handle.onpointermove = (point) => {
    if (last === null) return;
    resize(last - place(point));
    last = place(point);
  };
  handle.onpointerup = () => { last = null; };
  handle.onkeydown = (key) => {
    const by = { ArrowLeft: 24, ArrowUp: 24, ArrowRight: -24, ArrowDown: -24 }[key.key];
    if (by === undefined) return;
    key.preventDefault();
    key.stopPropagation();
    resize(by);
  };
}
