// Every word that the canvas shows, by key. English stands in where data.words lacks a key.

const ENGLISH = {
  axis_query: "queries",
  axis_key: "keys",
  cell: "“{query}” looks at “{key}”: {value}",
  cell_masked: "“{query}” may not look at “{key}”",
  bytes_of: "{token}: bytes of “{whole}”",
  cell_no_key: "“{query}” has no allowed key",
  map_label: "Attention map, {rows} queries down by {columns} keys across",
  map_hint: "Rows are queries, columns are keys. Click a row to pin it, press Esc to unpin it.",
  cell_positions: "query {q}, key {k}",
  zoom_shown: "Queries {q}, keys {k}",
  zoom_coming: "coming …",
  zoom_exact: "exact",
  zoom_whole: "whole",
  zoom_in_help: "Zoom in",
  zoom_out_help: "Zoom out",
  zoom_exact_help: "Zoom in to single weights",
  zoom_whole_help: "Show the whole map",
  zoom_minimap: "The whole map, small; the frame is the part that is shown",
  zoom_hint:
    "Click a cell for what its token looks at. Zoom: the wheel with Ctrl or once you have " +
    "clicked, or + and −; drag, or Shift and arrows, to move; Esc shows the whole.",
  excerpt_label: "What “{label}” looks at, passage by passage",
  excerpt_gap: "… {count} tokens, together {weight} …",
  excerpt_token: "token {position}: {value}",
  excerpt_hint: "Shaded by what token {position}, “{query}”, looks at over all keys, exactly.",
  arcs_label: "Lines from {rows} queries to {columns} keys",
  arcs_hint: "Queries on the left, keys on the right. Click a token to pin it, press Esc to unpin it.",
  arcs_strongest: "The {count} strongest lines are drawn.",
  pinned: "Pinned: “{query}”",
  unpinned: "No row is pinned.",
  masked: "masked",
  no_key: "no allowed key",
  scale_linear: "linear",
  scale_sqrt: "square root",
  scale_title: "How colour follows the weight",
  head: "layer {layer}, head {head}",
  head_chosen: "Chosen: layer {layer}, head {head}",
  mosaic_label: "All heads, {layers} layers down by {heads} heads across",
  mosaic_scale: "What the strongest colour of a head stands for",
  mosaic_scale_own: "each head its own scale",
  mosaic_scale_one: "one scale",
  mosaic_hint_own: "Layers down, heads across. Each head has its own square-root scale.",
  mosaic_hint_one: "Layers down, heads across. One square-root scale: the strongest colour is {top}.",
  mosaic_top: "largest weight {top}",
  axis_layer: "layer",
  axis_head: "head",
  sentence_label: "The tokens, shaded by what the pinned one looks at",
  sentence_hint: "Click a token, or a row of the map: the others are shaded by what it looks at.",
  sentence_pinned: "“{query}” looks most at “{key}”: {value}. Shading follows its weights.",
  patch_from: "{query} looks at patch {row},{column}: {value}",
  patch_to: "patch {row},{column} looks at {query}: {value}",
  prefix_from: "{query} looks at {label}",
  prefix_to: "{label} looks at {query}",
  patch_query: "Query: patch {row},{column}",
  prefix_query: "Query: {label}",
  caption_from: "what {query} looks at",
  caption_to: "what looks at {query}",
  patch_name: "patch {row},{column}",
  not_seen: "not seen by the model",
  photo_label: "Picture with {rows} by {columns} patches; Enter makes the current patch the query",
  photo_hint: "Click a patch to make it the query. Colours follow the square root of the weight.",
  thumbs_label: "This query in all heads, {layers} layers down by {heads} heads across",
  thumbs_hint: "Each head on its own square-root scale.",
  heat_patch: "patch {row},{column}: {unit} {value}",
  heat_token: "“{token}”: {unit} {value}",
  heat_label: "Picture with {rows} by {columns} patches, coloured by {unit}; arrows move over them",
  heat_tokens: "The tokens, shaded by {unit}",
  heat_clear_zero: "no colour at 0",
  heat_clear_mean: "no colour at the mean, {value}",
  layer: "Layer",
  opacity: "Opacity",
  play: "Play through the layers",
  pause: "Pause",
  step: "Next layer",
  smooth: "smooth",
  patches: "patches",
  overlay: "How the overlay is drawn",
  stale: "The input has changed since this picture was made.",
};

// A label may read right to left: without isolation it would pull the words around it along.
const ISOLATE = "\u2068";
const END_ISOLATE = "\u2069";

function isolated(text) {
  return ISOLATE + text + END_ISOLATE;
}

function template(words, key) {
  return words?.[key] ?? ENGLISH[key];
}

function say(words, key, values = {}) {
  return template(words, key).replace(/\{(\w+)\}/g, (_, name) => isolated(String(values[name])));
}

// The same sentence as elements, so that each value is isolated and can stand out.
function sayNodes(words, key, values = {}) {
  return template(words, key)
    .split(/(\{\w+\})/)
    .filter((part) => part !== "")
    .map((part) => (part.startsWith("{") ? bdi(values[part.slice(1, -1)]) : part));
}

function bdi(text) {
  const node = document.createElement("bdi");
  node.textContent = String(text);
  return node;
}

// An exact weight: enough digits to compare, never a false zero.
function exactNumber(value) {
  if (value === 0) return "0";
  if (value < 0.00001) return "< 0.00001";
  return value.toFixed(value < 0.001 ? 5 : 3);
}

// A weight off the 8-bit root scale: only the digits that the scale really holds.
function roughNumber(value, top, step) {
  if (value === 0 || top === 0) return "≈ 0";
  const level = 255 * Math.sqrt(value / top);
  const digits = step / level < 0.1 ? 2 : 1;
  return "≈ " + plain(Number(value.toPrecision(digits)));
}

function plain(value) {
  return value < 0.0001 ? value.toExponential(0) : String(value);
}

// The same with its sign; of a difference both signs are told.
function signedNumber(value, isDifference) {
  const plus = isDifference && value > 0 ? "+" : "";
  return value < 0 ? `−${exactNumber(-value)}` : plus + exactNumber(value);
}

// The end of a colour bar.
function shortNumber(value) {
  return value === 0 ? "0" : plain(Number(value.toPrecision(3)));
}
