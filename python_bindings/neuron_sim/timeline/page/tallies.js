/* What the tables show of a recording: lines, instructions, tensors and waits, by time. */

/** Per instruction of the recording: how often it runs, picoseconds at work (all its steps together),
 * on the critical path, and waiting for its start. */
function tally(recording) {
  if (recording.tally) return recording.tally;
  const { column, names } = recording;
  const [count, work, path, wait] =
    Array.from({ length: 4 }, () => new Float64Array(names.instructions.length));
  for (let i = 0; i < recording.instances; ++i) {
    const instruction = column.instance_instruction[i];
    ++count[instruction];
    wait[instruction] += column.instance_start[i] - column.instance_ready[i];
  }
  for (let i = 0; i < recording.events; ++i) {
    if (column.event_kind[i] === KIND.wait) continue;
    work[recording.instructionOf(i)] += column.event_end[i] - column.event_start[i];
  }
  column.path_event.forEach((event, i) => {
    path[recording.instructionOf(event)] += column.path_end[i] - column.path_start[i];
  });
  recording.tally = { count, work, path, wait };
  return recording.tally;
}

/** "product.py:7" of "/folder/product.py:7", with the run where there are two. */
const placeOf = (recording, source) => tagged(recording, source.slice(source.lastIndexOf("/") + 1));

/** An instruction by its name and what it writes. */
function titleOf({ name, operands }) {
  const result = operands.find((operand) => operand.writes);
  return result ? `${name} ${result.text.split(" [")[0]}` : name;
}

const LINE_COLUMNS = [["line", "place"], ["critical path", "time"], ["at work", "time"],
  ["waits", "time"], ["runs", "count"], ["code", "code"]];

/** A row per line of the kernel; lines without instructions stand between them in the source. */
function lineRows(recording, page) {
  const { path, work, wait, count } = tally(recording);
  const sums = new Map();
  recording.names.instructions.forEach(({ source }, i) => {
    if (!source) return;
    if (!sums.has(source)) sums.set(source, [0, 0, 0, 0]);
    [path, work, wait, count].forEach((values, k) => { sums.get(source)[k] += values[i]; });
  });
  const texts = new Map(Object.entries(recording.sources ?? {}).flatMap(([file, { first, lines }]) =>
    lines.map((text, i) => [`${file}:${first + i}`, text])));
  const row = (source, figures) => ({
    cells: [placeOf(recording, source), ...figures,
      texts.get(source) ?? recording.lines[source] ?? ""],
    key: recording.tag + source,
    context: figures[0] === null,
    pick: () => page.mark(recording, (instance) => recording.sourceOf(instance) === source),
  });
  const others = [...texts.keys()].filter((source) => !sums.has(source));
  return [...[...sums].map(([source, figures]) => row(source, figures)),
    ...others.map((source) => ({ ...row(source, [null, null, null, null]), pick: undefined }))];
}

const INSTRUCTION_COLUMNS = [["instruction", "words"], ["at work", "time"], ["critical path", "time"],
  ["waits", "time"], ["runs", "count"], ["engine", "words"], ["line", "place"]];

/** What the instructions of one row have in common, per instruction. */
const keysOf = (recording) => recording.names.instructions.map(
  (each) => [recording.tag, titleOf(each), each.engine, each.core, each.source].join("|"));

function instructionRows(recording, page) {
  const { path, work, wait, count } = tally(recording);
  const { instance_instruction: instructions } = recording.column;
  const keys = keysOf(recording);
  const rows = new Map();
  recording.names.instructions.forEach((each, i) => {
    const key = keys[i];
    const pick = () => page.mark(recording, (instance) => keys[instructions[instance]] === key);
    const title = tagged(recording, titleOf(each));
    const cells = [title, 0, 0, 0, 0, each.engine, placeOf(recording, each.source)];
    if (!rows.has(key)) rows.set(key, { cells, key, pick });
    [work, path, wait, count].forEach((values, k) => { rows.get(key).cells[k + 1] += values[i]; });
  });
  return [...rows.values()];
}

const TENSOR_COLUMNS = [["tensor", "words"], ["memory", "words"], ["DMA", "bytes"],
  ["reads", "count"], ["writes", "count"], ["lives", "time"]];

/** Calls visit(instance, operand, name) for every operand of every instance; `name` tells tensors. */
function visitOperands(recording, visit) {
  const { column, names } = recording;
  const keys = names.tiles.map((tile) => `${tile.label}|${tile.memory}`);
  for (let i = 0; i < recording.instances; ++i) {
    const { operands } = names.instructions[column.instance_instruction[i]];
    const first = column.instance_first_location[i];
    for (let k = 0; k < operands.length; ++k) {
      if (operands[k].text) visit(i, operands[k], keys[column.location_tile[first + k]]);
    }
  }
}

function tensorRows(recording, page) {
  const { column, names } = recording;
  const moved = new Float64Array(recording.instances);
  column.event_bytes.forEach((bytes, event) => { moved[column.event_instance[event]] += bytes; });
  const sums = new Map();
  const of = (key) => {
    if (!sums.has(key)) sums.set(key, { bytes: 0, reads: 0, writes: 0, lives: 0 });
    return sums.get(key);
  };
  visitOperands(recording, (instance, { reads, writes }, key) => {
    const sum = of(key);
    sum.bytes += moved[instance];
    sum.reads += reads ? 1 : 0;
    sum.writes += writes ? 1 : 0;
  });
  column.life_tile.forEach((tile, i) => {
    const { label, memory } = names.tiles[tile];
    of(`${label}|${memory}`).lives += column.life_end[i] - column.life_start[i];
  });
  return [...sums].map(([key, { bytes, reads, writes, lives }]) => {
    const [label, memory] = [key.slice(0, key.lastIndexOf("|")), key.slice(key.lastIndexOf("|") + 1)];
    const pick = () => {
      const touches = new Uint8Array(recording.instances);
      visitOperands(recording, (instance, _, other) => { if (other === key) touches[instance] = 1; });
      page.mark(recording, (instance) => touches[instance]);
    };
    return { cells: [tagged(recording, label), memory, bytes, reads, writes, lives || null],
      key: recording.tag + key, pick };
  });
}

const WAIT_COLUMNS = [["instruction", "words"], ["waited for", "words"], ["sum", "time"],
  ["longest", "time"], ["waits", "count"], ["engine", "words"], ["line", "place"]];

/** A row per instruction that waited and the instruction that was ready last; a click shows the
 * longest of their waits. */
function waitRows(recording, page) {
  const { column, names } = recording;
  const keys = keysOf(recording);
  const sums = new Map();
  for (let i = 0; i < recording.instances; ++i) {
    const waited = column.instance_start[i] - column.instance_ready[i];
    if (waited <= 0) continue;
    const wait = column.instance_bound[i];
    const event = wait === NONE ? NONE : column.wait_event[wait];
    const producer = event === NONE ? "" : recording.instructionOf(event);
    const key = `${keys[column.instance_instruction[i]]}|${keys[producer]}`;
    if (!sums.has(key)) sums.set(key, { producer, sum: 0, longest: 0, count: 0 });
    const sum = sums.get(key);
    sum.sum += waited;
    ++sum.count;
    if (waited > sum.longest) Object.assign(sum, { longest: waited, instance: i });
  }
  return [...sums].map(([key, { producer, sum, longest, count, instance }]) => {
    const instruction = names.instructions[column.instance_instruction[instance]];
    const other = producer === "" ? "" : titleOf(names.instructions[producer]);
    return { cells: [tagged(recording, titleOf(instruction)), other, sum, longest, count,
      instruction.engine, placeOf(recording, instruction.source)], key,
      pick: () => page.select({ recording, event: recording.mainEvent(instance) }, true) };
  });
}

/** The tables of the page by the names of their tabs. */
function tablesOf(page) {
  const table = (name, columns, rows) => new SortableTable(document.getElementById(name), name,
    columns, () => page.recordings.flatMap((recording) => rows(recording, page)));
  return {
    lines: table("lines", LINE_COLUMNS, lineRows),
    instructions: table("instructions", INSTRUCTION_COLUMNS, instructionRows),
    tensors: table("tensors", TENSOR_COLUMNS, tensorRows),
    waits: table("waits", WAIT_COLUMNS, waitRows),
  };
}
