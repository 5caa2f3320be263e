/* The mouse and fingers on the canvases. */

class Pointer {
  constructor(page, canvases) {
    this.page = page;
    this.timeline = page.timeline;
    this.tip = document.getElementById("tip");
    this.time = null;  // where it is on the lanes
    const [minimap, lanes, memory] = canvases;
    this.connectLanes(lanes);
    this.connectMinimap(minimap);
    this.connectMemory(memory);
  }

  connectLanes(canvas) {
    canvas.addEventListener("wheel", (wheel) => this.onWheel(wheel), { passive: false });
    let drag = null;
    canvas.onpointerdown = (point) => {
      canvas.setPointerCapture(point.pointerId);
      const ranges = point.offsetX > GUTTER && (point.shiftKey || point.offsetY < RULER);
      const from = this.timeline.timeAt(point.offsetX);
      drag = { x: point.offsetX, y: point.offsetY, moved: 0, ranges, from };
    };
    canvas.onpointermove = (point) => {
      this.time = this.timeline.timeAt(point.offsetX);
      if (!drag) return this.showTip(point, this.tipAt(point.offsetX, point.offsetY));
      this.onDrag(drag, point);
    };
    canvas.onpointerup = (point) => {
      const { moved, ranges } = drag ?? { moved: Infinity };
      drag = null;
      if (moved < 4 && !ranges) this.click(point.offsetX, point.offsetY);
      if (ranges) this.page.setRange(moved < 4 ? null : this.timeline.range);
    };
    canvas.onpointerleave = () => {
      this.tip.hidden = true;
      this.time = null;
    };
    canvas.ondblclick = () => this.page.zoomToSelected();
  }

  onWheel(wheel) {
    const { timeline } = this;
    wheel.preventDefault();
    if (wheel.shiftKey) timeline.scrollBy(wheel.deltaY || wheel.deltaX);
    else if (Math.abs(wheel.deltaX) > Math.abs(wheel.deltaY)) {
      timeline.pan(wheel.deltaX / timeline.width);
    } else timeline.zoom(1.0015 ** wheel.deltaY, timeline.timeAt(wheel.offsetX));
    this.page.redraw();
  }

  /** Moves the view, or the end of a range. */
  onDrag(drag, point) {
    const { timeline } = this;
    const [x, y] = [point.offsetX - drag.x, point.offsetY - drag.y];
    drag.moved += Math.abs(x) + Math.abs(y);
    drag.x = point.offsetX;
    drag.y = point.offsetY;
    if (drag.ranges) {
      timeline.range = [drag.from, timeline.timeAt(point.offsetX)].sort((a, b) => a - b);
    } else {
      timeline.pan(-x / timeline.width);
      timeline.scrollBy(-y);
    }
    this.page.redraw();
  }

  click(x, y) {
    const row = this.timeline.rowAt(y);
    if (row?.kind === "group" && x < GUTTER) {
      turnGroup(row);
      this.timeline.layOut();
      this.timeline.scrollBy(0);
      return this.page.redraw();
    }
    this.page.select(this.timeline.eventAt(x, y), false);
  }

  connectMinimap(canvas) {
    const move = (point) => {
      if (point.buttons === 0) return;
      const { from, to } = this.timeline;
      const middle = this.page.minimap.timeAt(point.offsetX);
      this.timeline.show(middle - (to - from) / 2, middle + (to - from) / 2);
      this.page.redraw();
    };
    canvas.onpointerdown = (point) => {
      canvas.setPointerCapture(point.pointerId);
      move(point);
    };
    canvas.onpointermove = move;
  }

  connectMemory(canvas) {
    canvas.onpointermove = (point) => {
      this.showTip(point, this.page.memory.textAt(point.offsetX, point.offsetY));
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
    const left = Math.min(point.clientX + 14, innerWidth - this.tip.offsetWidth - 8);
    this.tip.style.left = left + "px";
    this.tip.style.top = Math.min(point.clientY + 14, innerHeight - this.tip.offsetHeight - 8) + "px";
  }
}
