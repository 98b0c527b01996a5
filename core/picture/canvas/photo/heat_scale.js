// The scale of a heat map (core/picture/heat_scale.py): colours run from low to high, `clear` has
// none, so that the picture or the page shows.

const PHOTO_STOPS = [0, 32, 72, 112, 127, 128, 143, 183, 223, 255];

function heatShare(value, { low, high, diverging }) {
  if (high <= low) return diverging ? 0.5 : 0;
  return Math.min(1, Math.max(0, (value - low) / (high - low)));
}

// How far an entry of the table lies from the one that is clear.
function heatDistance(entry, { diverging }) {
  return diverging ? Math.max(0, Math.abs(entry - 127.5) * 2 - 1) : entry;
}

// Over a picture: bright colours, see-through where nothing is told.
function heatOnPhoto(data) {
  const table = photoTable(data.tables.on_dark ?? data.palette);
  return { table, alphaOf: (entry) => photoAlpha(heatDistance(entry, data.scale)) };
}

// On the page: far from its background, and the background itself where nothing is told.
function heatOnPage(data, theme) {
  if (!data.scale.diverging) return colourTable(data.palette, theme);
  const table = photoTable(theme.dark ? data.tables.on_dark : data.tables.on_light);
  return table.map((colour, entry) => {
    const share = Math.min(1, heatDistance(entry, data.scale) / BLEND);
    return mix(theme.background, colour, share);
  });
}

function heatNumber(data, value) {
  return signedNumber(value, data.scale.diverging && data.scale.middle === "zero");
}

function heatLegend(frame, table, alphaOf, className) {
  const { data } = frame;
  const { low, clear, high, diverging, middle } = data.scale;
  const bar = element("span", `bar ${className}`);
  bar.style.backgroundImage = gradient(table, alphaOf, PHOTO_STOPS);
  const ends = diverging ? [low, clear, high] : [low, high];
  const numbers = ends.map((value) => element("span", "", heatNumber(data, value)));
  const scale = element("span", "scale", bar, element("span", "numbers", ...numbers));
  const words = phrase(frame, `heat_clear_${middle}`, { value: heatNumber(data, clear) });
  return [scale, element("span", "", `${data.unit} · ${words}`)];
}
