/* The minimap above the lanes, and the map of SBUF and PSUM below them. */

class Minimap {
  constructor(canvas, timeline) {
    this.canvas = canvas;
    this.timeline = timeline;
    this.picture = null;
  }

  get width() { return this.canvas.clientWidth - GUTTER; }
  timeAt(x) {
    const { start, end } = this.timeline.recording;
    return start + ((x - GUTTER) / this.width) * (end - start);
  }
  xOf(time) {
    const { start, end } = this.timeline.recording;
    return GUTTER + ((time - start) / (end - start)) * this.width;
  }

  /** How busy each group is over the whole launch; drawn once per size and theme. */
  paint() {
    const { recording, rows, style } = this.timeline;
    const groups = rows.filter((row) => row.kind === "group");
    const picture = new OffscreenCanvas(Math.max(this.width, 1), this.canvas.clientHeight);
    const ctx = picture.getContext("2d");
    const height = picture.height / Math.max(groups.length, 1);
    const scale = (recording.end - recording.start) / picture.width;
    groups.forEach((group, i) => {
      ctx.fillStyle = `hsl(${hueOf(group.name)} ${style.saturation} ${style.lightness})`;
      for (let x = 0; x < picture.width; ++x) {
        const from = recording.start + x * scale;
        ctx.globalAlpha = group.load.share(from, from + scale);
        ctx.fillRect(x, i * height, 1, Math.max(height - 1, 1));
      }
    });
    this.picture = picture;
  }

  draw() {
    if (!this.picture) this.paint();
    const ctx = this.canvas.getContext("2d");
    const { style, from, to } = this.timeline;
    const height = this.canvas.clientHeight;
    ctx.fillStyle = style.back;
    ctx.fillRect(0, 0, GUTTER + this.width, height);
    ctx.drawImage(this.picture, GUTTER, 0);
    const left = Math.max(this.xOf(from), GUTTER);
    const right = Math.min(this.xOf(to), GUTTER + this.width);
    ctx.strokeStyle = style.accent;
    ctx.lineWidth = 2;
    ctx.strokeRect(left, 1, Math.max(right - left, 2), height - 2);
    ctx.fillStyle = style.faint;
    ctx.font = "12px system-ui, sans-serif";
    ctx.textBaseline = "middle";
    ctx.fillText("Overview", 6, height / 2);
  }
}

/** Which tile lives where: time from left to right as in the lanes, addresses upwards. */
class MemoryMap {
  constructor(canvas, timeline) {
    this.canvas = canvas;
    this.timeline = timeline;
    const { tiles } = timeline.recording.names;
    this.memories = ["sbuf", "psum"].map((name) => {
      const own = tiles.filter((tile) => tile.memory === name);
      const most = own.reduce((size, tile) => Math.max(size, tile.address + tile.bytes), 0);
      return { name, most };
    }).filter((memory) => memory.most > 0);
  }

  /** Top and height of a memory's part: SBUF takes two thirds beside PSUM. */
  part(index) {
    const height = this.canvas.clientHeight - 4;
    if (this.memories.length === 1) return [2, height];
    return index === 0 ? [2, height * 0.66 - 3] : [height * 0.66 + 2, height * 0.34];
  }

  box(life) {
    const { column, names } = this.timeline.recording;
    const tile = names.tiles[column.life_tile[life]];
    const index = this.memories.findIndex((memory) => memory.name === tile.memory);
    const [top, height] = this.part(index);
    const scale = height / this.memories[index].most;
    const bottom = top + height;
    return {
      tile, left: this.timeline.xOf(column.life_start[life]),
      right: this.timeline.xOf(column.life_end[life]),
      top: bottom - (tile.address + tile.bytes) * scale, height: Math.max(tile.bytes * scale, 1),
    };
  }

  draw() {
    const ctx = this.canvas.getContext("2d");
    const { style, recording, from, to } = this.timeline;
    const width = this.canvas.clientWidth;
    ctx.fillStyle = style.back;
    ctx.fillRect(0, 0, width, this.canvas.clientHeight);
    this.memories.forEach((memory, i) => {
      const [top, height] = this.part(i);
      ctx.fillStyle = style.grid;
      ctx.fillRect(GUTTER, top, width - GUTTER, height);
      ctx.fillStyle = style.text;
      ctx.font = "12px system-ui, sans-serif";
      ctx.textBaseline = "middle";
      ctx.fillText(memory.name.toUpperCase(), 6, top + 8);
      ctx.fillStyle = style.faint;
      ctx.fillText(`${bytesText(memory.most)} of a partition`, 6, top + 24, GUTTER - 12);
    });
    ctx.save();
    ctx.beginPath();
    ctx.rect(GUTTER, 0, width - GUTTER, this.canvas.clientHeight);
    ctx.clip();
    const { life_start: starts, life_end: ends, life_tile: tiles } = recording.column;
    const last = new Map();  // the pixel that a tile has been drawn up to
    const pixel = (to - from) / this.timeline.width;
    for (let i = 0; i < starts.length && starts[i] < to; ++i) {
      if (ends[i] < from || ends[i] < (last.get(tiles[i]) ?? -Infinity)) continue;
      last.set(tiles[i], Math.max(starts[i], from) + pixel);
      this.drawLife(ctx, this.box(i), style);
    }
    ctx.restore();
  }

  drawLife(ctx, box, style) {
    const width = Math.max(box.right - box.left, 1);
    ctx.fillStyle = `hsl(${hueOf(box.tile.label)} ${style.saturation} ${style.lightness})`;
    ctx.fillRect(box.left, box.top, width, box.height - (box.height > 3 ? 1 : 0));
    if (width < 30 || box.height < 12) return;
    ctx.save();
    ctx.beginPath();
    ctx.rect(box.left, box.top, width - 2, box.height);
    ctx.clip();
    ctx.fillStyle = style.text;
    ctx.font = "11px system-ui, sans-serif";
    ctx.fillText(box.tile.label, Math.max(box.left, GUTTER) + 3, box.top + box.height / 2);
    ctx.restore();
  }

  /** What lives at a point, as text; "" for nothing. */
  textAt(x, y) {
    const { column } = this.timeline.recording;
    const found = [];
    const time = this.timeline.timeAt(x);
    for (let i = 0; i < column.life_start.length && found.length < 6; ++i) {
      if (column.life_start[i] > time) break;
      if (column.life_end[i] < time) continue;
      const { tile, top, height } = this.box(i);
      if (y < top || y > top + height) continue;
      const lasts = exactTime(column.life_end[i] - column.life_start[i]);
      const lastPartition = tile.start_partition + tile.partitions - 1;
      found.push(`${tile.label} ${tile.dtype}: partitions ${tile.start_partition} to ` +
        `${lastPartition}, bytes ${tile.address} to ${tile.address + tile.bytes - 1}, for ${lasts}`);
    }
    return found.join("\n");
  }
}
