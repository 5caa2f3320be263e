/* The canvas of lanes: drawing, and where things are on it. */

const GUTTER = 168;
const RULER = 22;

/** One time axis for all recordings. `selected` is {recording, event} or null; `matching` what a
 * search found, by recording, or null without one; `range` and `markers` are chosen times. */
class Timeline {
  constructor(canvas, recordings, rows) {
    this.canvas = canvas;
    this.context = canvas.getContext("2d");
    this.rows = rows;
    this.start = Math.min(...recordings.map((recording) => recording.start));
    this.end = Math.max(...recordings.map((recording) => recording.end));
    this.from = this.start;
    this.to = this.end;
    this.scroll = 0;
    this.selected = null;
    this.matching = null;
    this.marksPath = true;
    this.range = null;
    this.markers = [];
    this.layOut();
  }

  layOut() {
    const visible = visibleRows(this.rows);
    this.visible = visible.rows;
    this.height = visible.height;
    this.rowsOfTracks = new Map();
    for (const row of this.visible) {
      if (row.track === undefined) continue;
      if (!this.rowsOfTracks.has(row.recording)) this.rowsOfTracks.set(row.recording, []);
      this.rowsOfTracks.get(row.recording)[row.track] = row;
    }
  }

  /** The row that shows an event; undefined in a closed group. */
  rowOf(recording, event) {
    return this.rowsOfTracks.get(recording)?.[recording.column.event_track[event]];
  }

  get width() { return Math.max(this.canvas.clientWidth - GUTTER, 1); }
  timeAt(x) { return this.from + ((x - GUTTER) / this.width) * (this.to - this.from); }
  xOf(time) { return GUTTER + ((time - this.from) / (this.to - this.from)) * this.width; }

  /** Shows [from, to), kept within the recordings with a margin. */
  show(from, to) {
    const { start, end } = this;
    const span = Math.min(Math.max(to - from, 200), (end - start) * 1.1);
    const margin = span * 0.4;
    this.from = Math.min(Math.max((from + to - span) / 2, start - margin), end + margin - span);
    this.to = this.from + span;
  }

  zoom(factor, time) {
    const at = time ?? (this.from + this.to) / 2;
    this.show(at - (at - this.from) * factor, at + (this.to - at) * factor);
  }

  pan(share) {
    const by = (this.to - this.from) * share;
    this.show(this.from + by, this.to + by);
  }

  scrollBy(pixels) {
    const most = Math.max(this.height - this.canvas.clientHeight + RULER + 8, 0);
    this.scroll = Math.min(Math.max(this.scroll + pixels, 0), most);
  }

  rowAt(y) {
    const at = y - RULER + this.scroll;
    if (y < RULER) return undefined;
    return this.visible.find((row) => at >= row.top && at < row.top + row.height);
  }

  /** What is under a point of a lane; null for a launch phase or an empty place. */
  eventAt(x, y) {
    const row = this.rowAt(y);
    if (!row?.lane || x < GUTTER) return null;
    const slice = row.lane.at(this.timeAt(x), (3 * (this.to - this.from)) / this.width);
    const event = slice < 0 ? NONE : this.eventOf(row, row.lane.items[slice]);
    return event === NONE ? null : { recording: row.recording, event };
  }

  eventOf(row, item) {
    const c = row.recording.column;
    switch (row.kind) {
      case "launch": return NONE;
      case "path": return c.path_event[item];
      case "ring": return c.share_event[item];
      case "waits": return row.recording.mainEvent(item);
      default: return item;
    }
  }

  draw() {
    const ctx = this.context;
    const style = this.style;
    const height = this.canvas.clientHeight;
    ctx.fillStyle = style.back;
    ctx.fillRect(0, 0, GUTTER + this.width, height);
    this.drawGrid(ctx, height);
    const view = { from: this.from, to: this.to, width: this.width };
    ctx.save();
    ctx.beginPath();
    ctx.rect(0, RULER, GUTTER + this.width, height - RULER);
    ctx.clip();
    ctx.translate(0, RULER - this.scroll);
    for (const row of this.visible) {
      if (row.top + row.height < this.scroll || row.top > this.scroll + height) continue;
      this.drawRow(ctx, row, view);
    }
    this.drawArrows(ctx);
    ctx.restore();
    this.drawRange(ctx, height);
  }

  /** The chosen range, the rest under a veil, and markers with their numbers. */
  drawRange(ctx, height) {
    const { style } = this;
    if (this.range) {
      const [left, right] = this.range.map((time) =>
        Math.min(Math.max(this.xOf(time), GUTTER), GUTTER + this.width));
      ctx.globalAlpha = 0.55;
      ctx.fillStyle = style.back;
      ctx.fillRect(GUTTER, RULER, left - GUTTER, height);
      ctx.fillRect(right, RULER, GUTTER + this.width - right, height);
      ctx.globalAlpha = 1;
      ctx.fillStyle = style.accent;
      ctx.fillRect(left, RULER - 4, right - left, 3);
    }
    this.markers.forEach((time, i) => {
      const x = Math.round(this.xOf(time));
      if (x < GUTTER) return;
      ctx.fillStyle = style.accent;
      ctx.fillRect(x, 0, 1, height);
      ctx.fillText(String(i + 1), x + 3, 6);
    });
  }

  drawGrid(ctx, height) {
    const rough = ((this.to - this.from) / this.width) * 110;
    const power = 10 ** Math.floor(Math.log10(rough));
    const step = power * [1, 2, 5, 10].find((factor) => factor * power >= rough);
    ctx.font = "11px system-ui, sans-serif";
    ctx.textBaseline = "middle";
    for (let time = Math.ceil(this.from / step) * step; time < this.to; time += step) {
      const x = Math.round(this.xOf(time));
      ctx.fillStyle = this.style.grid;
      ctx.fillRect(x, RULER, 1, height);
      ctx.fillStyle = this.style.faint;
      const text = tickText(time, step);
      if (x + 3 + ctx.measureText(text).width > GUTTER + this.width) continue;
      ctx.fillText(text, x + 3, RULER / 2);
    }
  }

  drawRow(ctx, row, view) {
    this.drawName(ctx, row);
    ctx.save();
    ctx.beginPath();
    ctx.rect(GUTTER, row.top, view.width, row.height);
    ctx.clip();
    ctx.translate(GUTTER, row.top);
    if (row.kind === "group") this.drawShare(ctx, row, view);
    else if (row.kind === "counter") this.drawCounter(ctx, row, view);
    else this.drawLane(ctx, row, view);
    ctx.restore();
  }

  drawName(ctx, row) {
    if (row.kind === "ring") return;
    const group = row.kind === "group";
    const sign = group ? (row.open ? "▾ " : "▸ ") : row.group ? "   " : "";
    ctx.font = (group ? "600 " : "") + "12px system-ui, sans-serif";
    ctx.fillStyle = row.group ? this.style.faint : this.style.text;
    const middle = row.top + row.height / 2 + 1;
    const small = row.kind === "counter";
    const name = row.kind === "waits" ? "waits" : row.name;
    ctx.fillText(sign + name, 6, small ? row.top + 9 : middle, GUTTER - 12);
    if (!small) return;
    ctx.fillStyle = this.style.faint;
    ctx.fillText("at most " + valueText(row.steps.most, row.unit), 6, row.top + 25, GUTTER - 12);
  }

  /** Colour and opacity of a slice, and the colour of its label. */
  look(item, row) {
    const { style } = this;
    const { recording } = row;
    const plain = (fill) => ({ fill, opacity: 1, ink: style.text });
    if (row.kind === "waits") return plain(style.wait);
    if (row.kind === "launch") return plain(item === 1 ? style.line : style.raised);
    if (row.kind === "modules") return plain(style.line);
    const event = this.eventOf(row, item);
    if (row.kind === "path" && !recording.column.path_works[item]) return plain(style.wait);
    if (this.matching && !this.matching.get(recording)[event]) return plain(style.raised);
    const fill = COLOURS[recording.colourNames[recording.column.event_track[event]]];
    return OVERHEADS.includes(recording.column.event_kind[event])
      ? { fill, opacity: PALER, ink: style.text }
      : { fill, opacity: 1, ink: inkOn(fill) };
  }

  drawLane(ctx, row, view) {
    const { style } = this;
    const { recording } = row;
    const selected = this.selected?.recording === recording ? this.selected.event : NONE;
    const inner = row.height;
    const marked = this.marksPath && (row.kind === "engine" || row.kind === "queue");
    const mark = (event, left, width) => {
      if (!marked || !recording.onPath[event]) return;
      ctx.fillStyle = style.accent;
      ctx.fillRect(left, inner - 3, width, 3);
    };
    ctx.font = "11px system-ui, sans-serif";
    walkLane(row.lane, view, (i, left, right) => {
      const item = row.lane.items[i];
      const look = this.look(item, row);
      ctx.globalAlpha = look.opacity;
      ctx.fillStyle = look.fill;
      ctx.fillRect(left, 0, right - left - 0.5, inner);
      ctx.globalAlpha = 1;
      const event = this.eventOf(row, item);
      mark(event, left, right - left - 0.5);
      if (event !== NONE && event === selected) {
        ctx.strokeStyle = style.text;
        ctx.lineWidth = 2;
        ctx.strokeRect(left + 1, 1, right - left - 2.5, inner - 2);
      }
      if (right - left < 26 || inner < 14) return;
      ctx.fillStyle = look.ink;
      const label = row.texts ? row.texts[item] : recording.nameOf(event);
      ctx.save();
      ctx.beginPath();
      ctx.rect(left, 0, right - left - 2, inner);
      ctx.clip();
      ctx.fillText(label, Math.max(left, 0) + 3, inner / 2 + 0.5);
      ctx.restore();
    }, (i, pixel, share) => {
      const look = this.look(row.lane.items[i], row);
      ctx.globalAlpha = (0.3 + 0.7 * share) * look.opacity;
      ctx.fillStyle = look.fill;
      ctx.fillRect(pixel, 0, 1, inner);
      ctx.globalAlpha = 1;
      mark(row.lane.items[i], pixel, 1);
    });
  }

  drawShare(ctx, row, view) {
    ctx.fillStyle = row.colour === "Modules" ? this.style.line : colourOfGroup(row.colour);
    row.load.shares(view.from, view.to, Math.ceil(view.width)).forEach((share, x) => {
      if (share <= 0) return;
      const height = Math.max(share * row.height, 1);
      ctx.fillRect(x, row.height - height, 1, height);
    });
  }

  drawCounter(ctx, row, view) {
    const scale = (view.to - view.from) / view.width;
    const most = row.most || 1;
    ctx.fillStyle = colourOfGroup(row.colour);
    for (let x = 0; x < view.width; ++x) {
      const from = view.from + x * scale;
      const height = (row.steps.largest(from, from + scale) / most) * row.height;
      ctx.fillRect(x, row.height - height, 1, height);
    }
  }

  /** From what the selected instance waited for, to what waited for it. */
  drawArrows(ctx) {
    if (!this.selected) return;
    ctx.beginPath();
    ctx.rect(GUTTER, this.scroll, this.width, this.canvas.clientHeight);
    ctx.clip();
    const { recording, event: selected } = this.selected;
    const { column } = recording;
    const instance = column.event_instance[selected];
    for (const wait of recording.waitsOf(instance)) {
      if (column.wait_event[wait] === NONE) continue;
      this.drawArrow(ctx, recording, column.wait_event[wait], selected, this.style.accent);
    }
    for (const event of recording.eventsOfInstance.of(instance)) {
      for (const wait of recording.waitsOnEvent.of(event).subarray(0, 100)) {
        const consumer = recording.mainEvent(recording.instanceOfWait(wait));
        this.drawArrow(ctx, recording, event, consumer, this.style.faint);
      }
    }
  }

  drawArrow(ctx, recording, from, to, colour) {
    const { column } = recording;
    const [start, end] = [from, to].map((event) => this.rowOf(recording, event));
    if (!start || !end) return;
    const x0 = this.xOf(column.event_end[from]);
    const x1 = this.xOf(column.event_start[to]);
    const [y0, y1] = [start, end].map((row) => row.top + row.height / 2);
    ctx.strokeStyle = ctx.fillStyle = colour;
    ctx.lineWidth = 1.5;
    ctx.beginPath();
    ctx.moveTo(x0, y0);
    ctx.bezierCurveTo(x0 + 24, y0, x1 - 24, y1, x1, y1);
    ctx.stroke();
    ctx.fillRect(x1 - 4, y1 - 3, 4, 6);
  }
}
