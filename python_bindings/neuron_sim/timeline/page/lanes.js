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

  /** The time that slices cover up to a time; `i` is the first one that ends after it. */
  coveredUpTo(time, i) {
    return this.covered[i] + (i < this.items.length ? Math.max(time - this.start[i], 0) : 0);
  }
}

/** How busy several lanes are together. */
class Load {
  constructor(lanes) {
    this.lanes = lanes;
  }

  /** The covered share, 0 to 1, of each of `count` equal stretches of [from, to). */
  shares(from, to, count) {
    const shares = new Float64Array(count);
    const step = (to - from) / count;
    for (const lane of this.lanes) {
      let i = firstAbove(lane.end, from);
      let before = lane.coveredUpTo(from, i);
      for (let k = 0; k < count; ++k) {
        const time = from + (k + 1) * step;
        i = firstAbove(lane.end, time, i);
        const covered = lane.coveredUpTo(time, i);
        shares[k] += covered - before;
        before = covered;
      }
    }
    return shares.map((time) => Math.min(time / step / this.lanes.length, 1));
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
