/* Colours: one per engine and kind, the same on every page. Colour-blind readers tell them apart, and
 * they have contrast to both backgrounds and to their labels. */

const COLOURS = {
  Tensor: "#2b59f0", Vector: "#c2096e", Scalar: "#996909", GpSimd: "#7751ad", Sync: "#e5548e",
  DMA: "#009ac0", Collectives: "#a4962c",
};
const MEMORY_COLOURS = {
  SBUF: ["#8fb8a6", "#79a491", "#a6cabb"], PSUM: ["#c3a9b4", "#b294a2", "#d4bfc8"],
};
const INKS = { dark: "#14171c", light: "#ffffff" };
const OVERHEADS = [KIND.table, KIND.generation, KIND.trigger];
const PALER = 0.55;  // the opacity of what an engine does besides the work of instructions

/** Which colour a track has: that of its engine, of all DMA queues, or none, of modules. */
function colourName(track) {
  if (track.kind === "modules") return "Modules";
  if (track.kind === "collectives" || track.group === "Collectives") return "Collectives";
  return track.group in COLOURS ? track.group : "DMA";
}

const colourOfGroup = (name) => COLOURS[name] ?? MEMORY_COLOURS[name]?.[0] ?? COLOURS.DMA;

/** One of the three shades of a memory; the same for the same label on every page. */
function colourOfTile(memory, label) {
  let hash = 0;
  for (let i = 0; i < label.length; ++i) hash = (hash * 31 + label.charCodeAt(i)) % 65521;
  return MEMORY_COLOURS[memory.toUpperCase()][hash % 3];
}

/** The colour of text on a fill, whichever of the two has more contrast. */
const inkOn = (() => {
  const luminance = (colour) => [1, 3, 5].reduce((sum, at, i) => {
    const channel = parseInt(colour.slice(at, at + 2), 16) / 255;
    const linear = channel <= 0.04045 ? channel / 12.92 : ((channel + 0.055) / 1.055) ** 2.4;
    return sum + linear * [0.2126, 0.7152, 0.0722][i];
  }, 0);
  const known = new Map();
  return (fill) => {
    if (!known.has(fill)) known.set(fill, luminance(fill) > 0.19 ? INKS.dark : INKS.light);
    return known.get(fill);
  };
})();

/** The legend: what is on this page, in the order of its lanes. */
function fillLegend(list, recordings) {
  const add = (text, background, className = "") => {
    const entry = element("li", undefined, list);
    element("span", undefined, entry, className).style.background = background;
    entry.append(text);
  };
  const used = new Set(recordings.flatMap((each) => each.names.tracks.map(colourName)));
  for (const [name, colour] of Object.entries(COLOURS)) {
    if (used.has(name)) add(name === "DMA" ? "DMA queue" : name, colour);
  }
  add("table load, descriptors, trigger (paler)", COLOURS.Tensor, "paler");
  add("wait", "var(--wait)");
  add("launch by the host", "var(--line)");
  for (const [name, [colour]] of Object.entries(MEMORY_COLOURS)) add(`tile of ${name}`, colour);
  add("on the critical path", "var(--accent)", "underline");
}
