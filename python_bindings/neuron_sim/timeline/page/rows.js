/* What the rows of the timeline show, from the launch down to the counters. */

const ROW = { group: 20, lane: 20, ring: 9, wait: 11, counter: 34 };

/** The rows of all recordings; those that show the same of two runs follow each other. */
function buildRows(recordings) {
  const lists = recordings.map(rowsOf);
  const order = lists[0].map((row) => row.key);
  for (const rows of lists.slice(1)) {
    rows.forEach(({ key }, i) => {
      if (!order.includes(key)) order.splice(i === 0 ? 0 : order.indexOf(rows[i - 1].key) + 1, 0, key);
    });
  }
  return order.flatMap((key) => {
    const same = lists.flatMap((rows) => rows.filter((row) => row.key === key));
    const most = Math.max(...same.map((row) => row.steps?.most ?? 0));
    for (const row of same) row.most = most;  // counters of both runs have one scale
    return same;
  });
}

/** The rows of a run: `recording`, `key` (what it shows, in any run), `kind`, `height`, `name`, and a
 * lane or steps; the rows of a closed group are left out. */
function rowsOf(recording) {
  const c = recording.column;
  const tracks = recording.names.tracks;
  const waits = c.event_kind;
  const eventsOf = inBuckets(tracks.length, c.event_track);
  const instancesOf = inBuckets(tracks.length, c.instance_track);
  const sharesOf = inBuckets(tracks.length, c.share_track);
  const laneOf = (index) => {
    if (tracks[index].kind === "ring") {
      return new Lane(c.share_start, c.share_end, sharesOf.of(index));
    }
    if (tracks[index].kind === "waits") {
      return new Lane(c.instance_ready, c.instance_start, instancesOf.of(index));
    }
    const events = eventsOf.of(index).filter((event) => waits[event] !== KIND.wait);
    return new Lane(c.event_start, c.event_end, events);
  };
  const rows = [launchRow(recording), pathRow(recording)];
  const titleOf = (core, name) =>
    tagged(recording, recording.cores > 1 ? `core ${core}: ${name}` : name);
  const groups = new Map();
  tracks.forEach((track, index) => {
    const key = track.core + track.group;
    if (!groups.has(key)) {
      const name = titleOf(track.core, track.group);
      groups.set(key, {
        recording, key, kind: "group", name, colour: colourName(track), height: ROW.group,
        rows: [], rings: [], open: true,
      });
    }
    const group = groups.get(key);
    const heights = { ring: ROW.ring, waits: ROW.wait };
    const row = {
      recording, kind: track.kind, name: track.name, height: heights[track.kind] ?? ROW.lane,
      lane: laneOf(index), track: index, group,
    };
    if (track.kind === "ring") group.rings.push(row);
    else group.rows.push(row);
  });
  for (const group of groups.values()) {
    group.showsRings = false;
    const working = group.rows.filter((row) => row.kind !== "waits");
    group.load = new Load((group.rings.length ? group.rings : working).map((row) => row.lane));
    rows.push(group);
  }
  recording.counters.forEach((counter, i) => {
    if (c[`counter_time_${i}`].length === 0) return;
    const steps = new Steps(c[`counter_time_${i}`], c[`counter_value_${i}`]);
    rows.push({
      recording, key: `counter ${counter.core} ${counter.name}`, kind: "counter",
      name: titleOf(counter.core, counter.name), height: ROW.counter, steps, unit: counter.unit,
      colour: counter.name,
    });
  });
  return rows;
}

/** A title, with the run that it belongs to where there are two. */
const tagged = (recording, title) => (recording.tag ? `${recording.tag} · ${title}` : title);

function launchRow(recording) {
  const body = recording.phases.body[0];
  const names = ["preamble", "body", "postamble"];
  const times = names.map((name) => recording.phases[name]);
  const lane = new Lane(times.map((t) => t[0] - body), times.map((t) => t[1] - body), [0, 1, 2]);
  return { recording, key: "launch", kind: "launch", name: tagged(recording, "total_time"),
    height: ROW.lane, lane, texts: names };
}

function pathRow(recording) {
  const c = recording.column;
  const lane = new Lane(c.path_start, c.path_end, Uint32Array.from(c.path_event.keys()));
  return { recording, key: "path", kind: "path", name: tagged(recording, "Critical path"),
    height: ROW.lane, lane };
}

/** The rows that are open, in order, with their place `top`. A group of one row has no heading. */
function visibleRows(rows) {
  const result = [];
  let top = 0;
  const add = (row) => {
    row.top = top;
    top += row.height + 3;
    result.push(row);
  };
  for (const row of rows) {
    if (row.kind !== "group") {
      add(row);
      continue;
    }
    add(row);
    if (!row.open) continue;
    row.rows.forEach(add);
    if (row.showsRings) row.rings.forEach(add);
  }
  return { rows: result, height: top };
}

/** Opens a group step by step: closed, its lanes, its rings too. */
function turnGroup(group) {
  if (!group.open) {
    group.open = true;
  } else if (group.rings.length > 0 && !group.showsRings) {
    group.showsRings = true;
  } else {
    group.open = group.showsRings = false;
  }
}
