/* Search over names of instructions, lines of the kernel and labels of tiles. */

class Search {
  constructor(recording) {
    this.recording = recording;
    this.texts = recording.names.instructions.map((instruction) => [
      instruction.name, instruction.source, ...instruction.operands.map((each) => each.text ?? ""),
    ].join(" ").toLowerCase());
    this.found = [];
    this.byEvent = null;
  }

  /** Finds events; the whole name with its kind ("dma_copy trigger") counts too. */
  find(text) {
    const wanted = text.trim().toLowerCase();
    this.found = [];
    this.byEvent = null;
    if (!wanted) return;
    const { recording } = this;
    const hits = this.texts.map((each) => each.includes(wanted));
    const kinds = KIND_NAMES.map((name) => name !== "" && wanted.endsWith(name));
    const base = wanted.replace(/ (wait|table load|descriptor generation|trigger)$/, "");
    this.byEvent = new Uint8Array(recording.events);
    for (let event = 0; event < recording.events; ++event) {
      const kind = recording.column.event_kind[event];
      const instruction = recording.instructionOf(event);
      const named = kinds[kind] && this.texts[instruction].includes(base);
      if (!hits[instruction] && !named) continue;
      this.byEvent[event] = 1;
      this.found.push(event);
    }
    const start = recording.column.event_start;
    this.found.sort((a, b) => start[a] - start[b] || a - b);
  }

  /** The match after (or before) an event; the first one without an event. */
  next(event, step) {
    if (this.found.length === 0) return NONE;
    const at = this.found.indexOf(event);
    if (at < 0) return this.found[step > 0 ? 0 : this.found.length - 1];
    return this.found[(at + step + this.found.length) % this.found.length];
  }
}
