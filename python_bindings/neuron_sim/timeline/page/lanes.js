/* Lanes of slices that follow each other, drawn at any zoom with one search per pixel at most. */

/** The first index from `low` whose value is above `limit`; values rise. */
function firstAbove(values, limit, low = 0) {
  let step = low === 0 ? values.length : 1;
  let high = low;
  while (high < values.length && values[high] <= limit) {
    low = high + 1;
    high += step;
    step *= 2;
  }
  high = Math.min(high, values.length);
  while (low < high) {
    const middle = (low + high) >> 1;
    if (values[middle] <= limit) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Slices of one row by start. `items` are what they show: indices into the recording. */
class Lane {
  constructor(starts, ends, items) {
    let sorted = true;
    for (let i = 1; i < items.length && sorted; ++i) {
      sorted = starts[items[i - 1]] <= starts[items[i]];
    }
    this.items = sorted ? items : items.slice().sort((a, b) => starts[a] - starts[b] || a - b);
    const count = items.length;
    this.start = new Float64Array(count);
    this.end = new Float64Array(count);
    this.covered = new Float64Array(count + 1);
    for (let i = 0; i < count; ++i) {
      this.start[i] = starts[this.items[i]];
      this.end[i] = ends[this.items[i]];
      this.covered[i + 1] = this.covered[i] + this.end[i] - this.start[i];
    }
  }

  /** The index of the slice at a time, or the nearest one within `slack`; -1 without one. */
  at(time, slack) {
    const i = firstAbove(this.end, time - slack);
    return i < this.items.length && this.start[i] <= time + slack ? i : -1;
  }

}

/** How busy several lanes are together: the time that their slices cover up to a time. */
class Load {
  constructor(lanes) {
    this.lanes = lanes.length;
    const count = lanes.reduce((sum, lane) => sum + lane.items.length, 0);
    const [starts, ends] = [new Float64Array(count), new Float64Array(count)];
    let at = 0;
    for (const lane of lanes) {
      starts.set(lane.start, at);
      ends.set(lane.end, at);
      at += lane.items.length;
    }
    starts.sort();
    ends.sort();
    this.times = new Float64Array(2 * count);
    this.sums = new Float64Array(2 * count);
    this.open = new Uint16Array(2 * count);
    let [start, end, sum] = [0, 0, 0];
    for (let i = 0; i < 2 * count; ++i) {
      const begins = start < count && starts[start] <= ends[end];
      const time = begins ? starts[start] : ends[end];
      if (i > 0) sum += this.open[i - 1] * (time - this.times[i - 1]);
      if (begins) ++start;
      else ++end;
      this.times[i] = time;
      this.sums[i] = sum;
      this.open[i] = start - end;
    }
  }

  upTo(time) {
    const i = firstAbove(this.times, time) - 1;
    return i < 0 ? 0 : this.sums[i] + this.open[i] * (time - this.times[i]);
  }

  /** The covered share of [from, to), 0 to 1. */
  share(from, to) {
    if (this.lanes === 0) return 0;
    return Math.min((this.upTo(to) - this.upTo(from)) / (to - from) / this.lanes, 1);
  }
}

/** Calls slice(index, left, right) for slices wider than a pixel, and dense(index, pixel, share) for
 * pixels that hold several; share is the covered part of the pixel. */
function walkLane(lane, view, slice, dense) {
  const scale = view.width / (view.to - view.from);
  const count = lane.items.length;
  let i = firstAbove(lane.end, view.from);
  while (i < count && lane.start[i] < view.to) {
    const left = (lane.start[i] - view.from) * scale;
    const right = (lane.end[i] - view.from) * scale;
    if (right - left >= 1.5) {
      slice(i, Math.max(left, -2), Math.min(right, view.width + 2));
      ++i;
      continue;
    }
    const pixel = Math.floor(Math.max(left, 0));
    const from = view.from + pixel / scale;
    const to = view.from + (pixel + 1) / scale;
    let next = Math.max(firstAbove(lane.start, to, i), i + 1);
    // Only the last one can reach far beyond the pixel; it is drawn by itself.
    if (next - 1 > i && lane.end[next - 1] > to + 0.5 / scale) --next;
    const covered = lane.covered[next] - lane.covered[i];
    dense(i, pixel, Math.min(covered / (to - from), 1));
    i = next;
  }
}

/** A step function, with the largest value of each block of samples. */
class Steps {
  static BLOCK = 64;
  constructor(times, values) {
    this.times = times;
    this.values = values;
    this.most = 0;
    this.blocks = new Float64Array(Math.ceil(values.length / Steps.BLOCK));
    for (let i = 0; i < values.length; ++i) {
      const block = Math.floor(i / Steps.BLOCK);
      this.blocks[block] = Math.max(this.blocks[block], values[i]);
      this.most = Math.max(this.most, values[i]);
    }
  }

  at(time) {
    const i = firstAbove(this.times, time) - 1;
    return i < 0 ? 0 : this.values[i];
  }

  /** The largest value in [from, to). */
  largest(from, to) {
    let i = Math.max(firstAbove(this.times, from) - 1, 0);
    let result = this.at(from);
    while (i < this.times.length && this.times[i] < to) {
      const next = i + Steps.BLOCK;
      if (i % Steps.BLOCK === 0 && next < this.times.length && this.times[next] < to) {
        result = Math.max(result, this.blocks[i / Steps.BLOCK]);
        i = next;
        continue;
      }
      if (this.times[i] >= from) result = Math.max(result, this.values[i]);
      ++i;
    }
    return result;
  }
}

/** A steady colour for a name: `hue` of 12, so that neighbours in a list differ. */
const hues = new Map();
function hueOf(name) {
  if (!hues.has(name)) hues.set(name, (hues.size * 137 + 210) % 360);
  return hues.get(name);
}
