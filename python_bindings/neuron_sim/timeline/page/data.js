/* Recordings: columns of numbers, unpacked once, and what follows from them. */

const NONE = 0xffffffff;
const ARRAYS = { f8: Float64Array, u4: Uint32Array, i4: Int32Array, u1: Uint8Array };

/** Header and columns of a recording, which ../packing.py packed. */
async function unpack(element) {
  const packed = await fetch("data:application/octet-stream;base64," + element.textContent.trim());
  element.textContent = "";
  const stream = packed.body.pipeThrough(new DecompressionStream("gzip"));
  const buffer = await new Response(stream).arrayBuffer();
  const length = new DataView(buffer).getUint32(0, true);
  const header = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 8, length)));
  const bytes = new Uint8Array(buffer, 8 + length);
  const columns = {};
  for (const [name, ...place] of header.columns) columns[name] = decoded(bytes, ...place);
  return [header, columns];
}

/** A column from its planes of bytes; the coding "delta" has differences, their sign in bit 0. */
function decoded(bytes, type, coding, planes, offset, count) {
  const plane = (k) => bytes.subarray(offset + k * count, offset + (k + 1) * count);
  if (coding === "raw") {
    const interleaved = new Uint8Array(count * planes);
    for (let k = 0; k < planes; ++k) {
      const from = plane(k);
      for (let i = 0, at = k; i < count; ++i, at += planes) interleaved[at] = from[i];
    }
    return new ARRAYS[type](interleaved.buffer);
  }
  // One kind of array for all loops: engines compile those for several kinds badly.
  const values = new Float64Array(count);
  if (planes > 3) addWide(values, planes, plane);
  else addNarrow(values, planes, plane);
  return type === "f8" ? values : new ARRAYS[type](values);
}

/** The sums of differences of at most three bytes, which are integers of 32 bits. */
function addNarrow(values, planes, plane) {
  const low = plane(0), middle = plane(Math.min(1, planes - 1)), high = plane(planes - 1);
  const ofMiddle = planes > 1 ? 0xff00 : 0, ofHigh = planes > 2 ? 0xff0000 : 0;
  let value = 0;
  for (let i = 0; i < values.length; ++i) {
    const code = low[i] | ((middle[i] << 8) & ofMiddle) | ((high[i] << 16) & ofHigh);
    value += (code >> 1) ^ -(code & 1);
    values[i] = value;
  }
}

/** The sums of differences of more bytes. */
function addWide(values, planes, plane) {
  for (let k = planes - 1; k > 0; --k) {  // all but the lowest plane
    const from = plane(k);
    for (let i = 0; i < values.length; ++i) values[i] = values[i] * 256 + from[i];
  }
  const low = plane(0);
  let value = 0;
  for (let i = 0; i < values.length; ++i) {
    const size = values[i] * 128 + (low[i] >> 1);
    value += low[i] & 1 ? -size - 1 : size;
    values[i] = value;
  }
}

/** Items in buckets: `members` of bucket b are [first[b], first[b + 1]). */
function inBuckets(count, keys) {
  const first = new Uint32Array(count + 1);
  for (const key of keys) if (key < count) ++first[key + 1];
  for (let i = 0; i < count; ++i) first[i + 1] += first[i];
  const next = first.slice();
  const members = new Uint32Array(first[count]);
  for (let i = 0; i < keys.length; ++i) if (keys[i] < count) members[next[keys[i]]++] = i;
  return { first, members, of: (bucket) => members.subarray(first[bucket], first[bucket + 1]) };
}

const KIND = { step: 0, wait: 1, table: 2, generation: 3, trigger: 4, transfer: 5 };
const KIND_NAMES = ["", " wait", " table load", " descriptor generation", " trigger", ""];

/** A run. `tag` tells two runs on one page apart: "A" and "B"; "" for a single one. */
class Recording {
  constructor(header, columns, tag) {
    Object.assign(this, header);
    this.column = columns;
    this.tag = tag;
    this.events = columns.event_start.length;
    this.instances = columns.instance_instruction.length;
    this.eventsOfInstance = inBuckets(this.instances, columns.event_instance);
    this.waitsOnEvent = inBuckets(this.events, columns.wait_event);
    this.onPath = new Uint8Array(this.events);
    for (const event of columns.path_event) this.onPath[event] = 1;
    this.colourNames = this.names.tracks.map(colourName);
    this.start = -this.phases.body[0];
    this.end = this.phases.total_time[1] - this.phases.body[0];
  }

  instanceOfWait(wait) {
    const first = this.column.instance_first_wait;
    let low = 0;
    let high = this.instances;
    while (high - low > 1) {
      const middle = (low + high) >> 1;
      if (first[middle] <= wait) low = middle;
      else high = middle;
    }
    return low;
  }

  waitsOf(instance) {
    const first = this.column.instance_first_wait;
    const end = instance + 1 < this.instances ? first[instance + 1] : this.column.wait_event.length;
    return Array.from({ length: end - first[instance] }, (_, i) => first[instance] + i);
  }

  instructionOf(event) {
    return this.column.instance_instruction[this.column.event_instance[event]];
  }

  nameOf(event) {
    const base = this.names.instructions[this.instructionOf(event)].name;
    const kind = this.column.event_kind[event];
    const track = this.names.tracks[this.column.event_track[event]].name;
    const load = kind === KIND.step && track.startsWith("Tensor (load");
    return base + (load ? " load stationary" : KIND_NAMES[kind]);
  }

  lineOf(event) {
    return this.sourceOf(this.column.event_instance[event]);
  }

  sourceOf(instance) {
    return this.names.instructions[this.column.instance_instruction[instance]].source;
  }

  /** The event that stands for an instance: its work, not its waits. */
  mainEvent(instance) {
    const events = this.eventsOfInstance.of(instance);
    const works = (event) =>
      [KIND.step, KIND.transfer].includes(this.column.event_kind[event]);
    return events.findLast(works) ?? events[events.length - 1];
  }

  /** Sum of what the events of an engine add to its busy time; of "DMA" that of all shares. */
  busyOf(engine) {
    const { event_busy: busy, share_busy: shares } = this.column;
    if (engine === "DMA") return shares.reduce((sum, time) => sum + time, 0);
    let sum = 0;
    for (let i = 0; i < this.events; ++i) {
      if (busy[i] > 0 && this.names.instructions[this.instructionOf(i)].engine === engine) {
        sum += busy[i];
      }
    }
    return sum;
  }
}

/** A time in picoseconds as the whole page writes it, in the unit of the axis. */
const timeText = (picoseconds) => (picoseconds / 1e6).toFixed(3) + " us";

function bytesText(bytes) {
  for (const [unit, size] of [["MiB", 1 << 20], ["KiB", 1 << 10]]) {
    if (Math.abs(bytes) >= size) return (bytes / size).toFixed(bytes % size ? 1 : 0) + " " + unit;
  }
  return bytes + " B";
}

/** A tick of the ruler: no more decimals than the steps need. */
function tickText(time, step) {
  const decimals = Math.max(0, Math.ceil(-Math.log10(step / 1e6) - 1e-9));
  return (time / 1e6).toFixed(decimals) + " us";
}

function valueText(value, unit) {
  if (unit === "bytes") return bytesText(value);
  return (Number.isInteger(value) ? value : value.toFixed(1)) + " " + unit;
}
