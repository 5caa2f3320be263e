/* The minimap above the lanes, and the map of SBUF and PSUM below them. */

class Minimap {
  constructor(canvas, timeline) {
    this.canvas = canvas;
    this.timeline = timeline;
    this.picture = null;
  }

  get width() { return this.canvas.clientWidth - GUTTER; }
  timeAt(x) {
    const { start, end } = this.timeline;
    return start + ((x - GUTTER) / this.width) * (end - start);
  }
  xOf(time) {
    const { start, end } = this.timeline;
    return GUTTER + ((time - start) / (end - start)) * this.width;
  }

  /** How busy each group is over the whole launch; drawn once per size and theme. */
  paint() {
    const { start, end, rows } = this.timeline;
    const groups = rows.filter((row) => row.kind === "group");
    const picture = new OffscreenCanvas(Math.max(this.width, 1), this.canvas.clientHeight);
    const ctx = picture.getContext("2d");
    const height = picture.height / Math.max(groups.length, 1);
    groups.forEach((group, i) => {
      ctx.fillStyle = colourOfGroup(group.colour);
      group.load.shares(start, end, picture.width).forEach((share, x) => {
        ctx.globalAlpha = share;
        ctx.fillRect(x, i * height, 1, Math.max(height - 1, 1));
      });
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

const MEMORIES = { sbuf: 2, psum: 1 };  // which are drawn, and how high beside each other

/** Which tile lives where: time from left to right as in the lanes, addresses upwards. A memory has
 * places, stretches of bytes, each with a lane of the tiles that live there one after the other. */
class MemoryMap {
  constructor(canvas, timeline, recordings) {
    this.canvas = canvas;
    this.timeline = timeline;
    this.memories = recordings.flatMap((recording) => memoriesOf(recording));
  }

  /** Top and height of a memory's part. */
  part(memory) {
    const height = this.canvas.clientHeight - 4;
    const sum = (memories) => memories.reduce((total, each) => total + MEMORIES[each.kind], 0);
    const scale = height / sum(this.memories);
    const before = this.memories.slice(0, this.memories.indexOf(memory));
    return [2 + sum(before) * scale, MEMORIES[memory.kind] * scale - 4];
  }

  /** Top and height of a place. */
  box(memory, place) {
    const [top, height] = this.part(memory);
    const scale = height / memory.most;
    return {
      top: top + height - (place.address + place.bytes) * scale,
      height: Math.max(place.bytes * scale, 1),
    };
  }

  draw() {
    const ctx = this.canvas.getContext("2d");
    const { style, from, to } = this.timeline;
    const width = this.canvas.clientWidth;
    ctx.fillStyle = style.back;
    ctx.fillRect(0, 0, width, this.canvas.clientHeight);
    for (const memory of this.memories) this.drawName(ctx, memory);
    ctx.save();
    ctx.beginPath();
    ctx.rect(GUTTER, 0, width - GUTTER, this.canvas.clientHeight);
    ctx.clip();
    ctx.translate(GUTTER, 0);
    const view = { from, to, width: this.timeline.width };
    for (const memory of this.memories) {
      for (const place of memory.places) this.drawPlace(ctx, memory, place, view);
    }
    ctx.restore();
  }

  drawName(ctx, memory) {
    const [top, height] = this.part(memory);
    ctx.fillStyle = this.timeline.style.grid;
    ctx.fillRect(GUTTER, top, this.timeline.width, height);
    ctx.fillStyle = this.timeline.style.text;
    ctx.font = "12px system-ui, sans-serif";
    ctx.textBaseline = "middle";
    ctx.fillText(memory.name, 6, top + 8);
    if (height < 34) return;
    ctx.fillStyle = this.timeline.style.faint;
    ctx.fillText(`${bytesText(memory.most)} of a partition`, 6, top + 24, GUTTER - 12);
  }

  drawPlace(ctx, memory, place, view) {
    const { top, height } = this.box(memory, place);
    const drawn = height > 3 ? height - 1 : height;
    const choose = (i) => {
      const { label } = this.tileOf(memory, place, i);
      ctx.fillStyle = colourOfTile(memory.kind, label);
      return label;
    };
    walkLane(place.lane, view, (i, left, right) => {
      const label = choose(i);
      ctx.fillRect(left, top, right - left, drawn);
      if (right - left < 30 || height < 12) return;
      ctx.save();
      ctx.beginPath();
      ctx.rect(left, top, right - left - 2, height);
      ctx.clip();
      ctx.fillStyle = INKS.dark;
      ctx.font = "11px system-ui, sans-serif";
      ctx.fillText(label, Math.max(left, 0) + 3, top + height / 2);
      ctx.restore();
    }, (i, pixel, share) => {
      choose(i);
      ctx.globalAlpha = 0.3 + 0.7 * share;
      ctx.fillRect(pixel, top, 1, drawn);
      ctx.globalAlpha = 1;
    });
  }

  tileOf(memory, place, i) {
    const { column, names } = memory.recording;
    return names.tiles[column.life_tile[place.lane.items[i]]];
  }

  /** What lives at a point, as text; "" for nothing. */
  textAt(x, y) {
    const found = [];
    const time = this.timeline.timeAt(x);
    for (const memory of this.memories) {
      for (const place of memory.places) {
        const { top, height } = this.box(memory, place);
        const i = y < top || y > top + height ? -1 : place.lane.at(time, 0);
        if (i < 0) continue;
        const tile = this.tileOf(memory, place, i);
        const lasts = timeText(place.lane.end[i] - place.lane.start[i]);
        const lastPartition = tile.start_partition + tile.partitions - 1;
        found.push(`${tile.label} ${tile.dtype}: partitions ${tile.start_partition} to ` +
          `${lastPartition}, bytes ${tile.address} to ${tile.address + tile.bytes - 1}, for ${lasts}`);
      }
    }
    return found.slice(0, 6).join("\n");
  }
}

/** The memories of a run that have tiles, core by core. */
function memoriesOf(recording) {
  const { column, names } = recording;
  const places = new Map();
  const placeOf = names.tiles.map((tile) => {
    const key = [tile.core, tile.memory, tile.address, tile.bytes, tile.start_partition].join();
    if (!places.has(key)) places.set(key, { ...tile, index: places.size });
    return places.get(key).index;
  });
  const lives = inBuckets(places.size, Uint32Array.from(column.life_tile, (tile) => placeOf[tile]));
  for (const place of places.values()) {
    place.lane = new Lane(column.life_start, column.life_end, lives.of(place.index));
  }
  const memories = [];
  for (let core = 0; core < recording.cores; ++core) {
    for (const kind of Object.keys(MEMORIES)) {
      const own = [...places.values()].filter((place) =>
        place.core === core && place.memory === kind && place.lane.items.length > 0);
      if (own.length === 0) continue;
      const title = (recording.cores > 1 ? `core ${core}: ` : "") + kind.toUpperCase();
      const most = own.reduce((size, place) => Math.max(size, place.address + place.bytes), 0);
      memories.push({ recording, kind, name: tagged(recording, title), most, places: own });
    }
  }
  return memories;
}
