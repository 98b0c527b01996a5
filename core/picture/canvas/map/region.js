// A long map shows a region of itself, and counts positions through the whole text. Of a short map
// everything is shown: there a row is a position.

// The positions that a row (axis 0) or a column (axis 1) stands for: [from, to).
function positionsOf(data, axis, index) {
  const { region } = data;
  if (!region) return [index, index + 1];
  const [start, stop] = axis === 0 ? region.q : region.k;
  const from = start + index * region.cells[axis];
  return [from, Math.min(stop, from + region.cells[axis])];
}

// Where a position is drawn; null where it is not shown.
function indexOf(data, axis, position) {
  const { region } = data;
  if (position === null || !region) return position;
  const [start, stop] = axis === 0 ? region.q : region.k;
  if (position < start || position >= stop) return null;
  return Math.floor((position - start) / region.cells[axis]);
}

function pinnedRow(frame) {
  return indexOf(frame.data, 0, frame.pinned);
}

function queryCount(data) {
  return data.region ? data.region.of[0] : data.queries.length;
}

function whole(region) {
  return { q: [0, region.of[0]], k: [0, region.of[1]] };
}

function sameRegion(one, other) {
  return ["q", "k"].every((side) => one[side].every((end, index) => end === other[side][index]));
}

function isWhole(region, of) {
  return sameRegion(region, whole({ of }));
}

function spanText([from, to]) {
  const [first, last] = [from, to - 1].map((position) => position.toLocaleString("en"));
  return to - from === 1 ? first : `${first}–${last}`;
}

// Which positions a cell stands for, as the tooltip's second line; nothing on a short map.
function positionLines(frame, { row, column }) {
  if (!frame.data.region) return [];
  const [q, k] = [positionsOf(frame.data, 0, row), positionsOf(frame.data, 1, column)].map(spanText);
  return [[element("span", "quiet", phrase(frame, "cell_positions", { q, k }))]];
}

// A cell of a pooled map stands for several queries: the server finds the one that it shows.
function askRow(frame, view, row, column) {
  const q = positionsOf(frame.data, 0, row);
  const k = column === null ? frame.data.region.k : positionsOf(frame.data, 1, column);
  [frame.pinned] = q;
  speak(frame, "pinned", { query: frame.data.queries[row] });
  view.redraw();
  choose(frame, "row", { q, k });
}
