/* Search over names of instructions, lines of the kernel and labels of tiles. */

/** `matching`: by recording, a flag per event; null without a search. `found`: the matches by start,
 * as indices into the events of all recordings, one recording after the other. */
class Search {
  constructor(recordings) {
    this.recordings = recordings;
    this.texts = recordings.map((recording) => recording.names.instructions.map((each) => [
      each.name, each.source, ...each.operands.map((operand) => operand.text ?? ""),
    ].join(" ").toLowerCase()));
    this.find("");
  }

  /** Finds events; the whole name with its kind ("dma_copy trigger") counts too. */
  find(text) {
    const wanted = text.trim().toLowerCase();
    this.found = new Uint32Array(0);
    this.matching = null;
    if (!wanted) return;
    this.mark(this.recordings.map((recording, i) => this.flags(recording, this.texts[i], wanted)));
  }

  /** Makes flagged events the matches; flags are by recording and event. */
  mark(flags) {
    this.matching = new Map(this.recordings.map((recording, i) => [recording, flags[i]]));
    const total = this.recordings.reduce((sum, recording) => sum + recording.events, 0);
    const [start, ids] = [new Float64Array(total), []];
    let first = 0;
    this.recordings.forEach((recording, i) => {
      start.set(recording.column.event_start, first);
      flags[i].forEach((flag, event) => { if (flag) ids.push(first + event); });
      first += recording.events;
    });
    this.found = Uint32Array.from(ids).sort((a, b) => start[a] - start[b] || a - b);
  }

  flags(recording, texts, wanted) {
    const hits = texts.map((each) => each.includes(wanted));
    const kinds = KIND_NAMES.map((name) => name !== "" && wanted.endsWith(name));
    const base = wanted.replace(/ (wait|table load|descriptor generation|trigger)$/, "");
    const named = texts.map((each) => each.includes(base));
    const { event_kind: kind } = recording.column;
    return Uint8Array.from(kind, (each, event) => {
      const instruction = recording.instructionOf(event);
      return hits[instruction] || (kinds[each] && named[instruction]);
    });
  }

  /** The match after (or before) a selection, {recording, event}; the first one without one. */
  next(selected, step) {
    if (this.found.length === 0) return null;
    let at = step > 0 ? 0 : this.found.length - 1;
    if (selected) {
      const before = this.found.indexOf(this.firstOf(selected.recording) + selected.event);
      if (before >= 0) at = (before + step + this.found.length) % this.found.length;
    }
    const recording = this.recordings.findLast((each) => this.firstOf(each) <= this.found[at]);
    return { recording, event: this.found[at] - this.firstOf(recording) };
  }

  firstOf(recording) {
    const before = this.recordings.slice(0, this.recordings.indexOf(recording));
    return before.reduce((sum, each) => sum + each.events, 0);
  }
}
