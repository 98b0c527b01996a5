// Zooming a long map: what is there is drawn at once, larger or smaller; the finest picture of the
// wanted region is asked for when the hand rests, and takes its place when it comes.

const ZOOM = { least: 8, exact: 512, rest: 250 };

// The region that the visitor looks at: the one that was wanted last, there yet or not.
function seenRegion(frame, view) {
  return view.want ?? frame.data.region;
}

function lookAt(frame, view, region) {
  if (sameRegion(region, seenRegion(frame, view))) return;
  keepCursor(frame, view);
  view.want = sameRegion(region, frame.data.region) ? null : region;
  view.hovered = null;
  hideTip(frame);
  view.draw();
  window.clearTimeout(view.asking);
  view.asking = window.setTimeout(() => askRegion(frame, view), ZOOM.rest);
}

function askRegion(frame, view) {
  view.asking = null;
  const { q, k } = seenRegion(frame, view);
  if (sameRegion({ q, k }, view.asked)) return;
  view.asked = { q, k };
  choose(frame, "region", { q, k });
}

// Another run has other positions: what was wanted of the one before is nothing in this one.
function stopAsking(view) {
  window.clearTimeout(view.asking);
  Object.assign(view, { asking: null, asked: null, want: null, kept: null });
}

// New data: the answer to what was asked last ends the waiting, an older one does not.
async function updateZoom(frame, view) {
  const { data } = frame;
  view.overview = await decoded(frame, data.overview);
  view.picture = null;
  if (frame.data !== data) return;
  const another = frame.zoomedRun !== data.run;
  frame.zoomedRun = data.run;
  if (another) stopAsking(view);
  if (!data.region) return;
  const answered = !view.asked || sameRegion(view.asked, data.region);
  if (answered && !view.asking) view.want = null;
  if (answered) view.asked = { q: data.region.q, k: data.region.k };
  if (!view.want) takeCursor(frame, view);
}

// The cursor stays on its positions, wherever they are drawn next.
function keepCursor(frame, view) {
  if (!view.cursor) return;
  const { row, column } = view.cursor;
  view.kept = { q: positionsOf(frame.data, 0, row)[0], k: positionsOf(frame.data, 1, column)[0] };
  view.cursor = null;
}

function takeCursor(frame, view) {
  if (!view.kept) return;
  const [row, column] = [indexOf(frame.data, 0, view.kept.q), indexOf(frame.data, 1, view.kept.k)];
  if (row !== null && column !== null) view.cursor = { row, column };
  view.kept = null;
}

// A range of another length around the same place: `share` of it lies before that place.
function scaledRange([start, stop], factor, share, of) {
  const least = Math.min(ZOOM.least, of);
  const span = Math.min(of, Math.max(least, Math.round((stop - start) * factor)));
  const from = Math.round(start + (stop - start - span) * share);
  return inside(from, span, of);
}

function inside(from, span, of) {
  const start = Math.min(Math.max(0, from), of - span);
  return [start, start + span];
}

// `at` holds shares of the height and the width: where on the map the zoom holds still.
function zoomBy(frame, view, factor, at = restingPlace(frame, view)) {
  const { q, k } = seenRegion(frame, view);
  const { of } = frame.data.region;
  lookAt(frame, view, {
    q: scaledRange(q, factor, at.down, of[0]),
    k: scaledRange(k, factor, at.across, of[1]),
  });
}

function moveBy(frame, view, queries, keys) {
  const { q, k } = seenRegion(frame, view);
  const { of } = frame.data.region;
  lookAt(frame, view, {
    q: inside(q[0] + Math.round(queries), q[1] - q[0], of[0]),
    k: inside(k[0] + Math.round(keys), k[1] - k[0], of[1]),
  });
}

// Without a pointer the cursor is what one looks at, or else the pinned row, or the middle.
function restingPlace(frame, view) {
  const [rows, columns] = view.matrix.shape;
  if (view.cursor) {
    return { down: (view.cursor.row + 0.5) / rows, across: (view.cursor.column + 0.5) / columns };
  }
  const { q } = seenRegion(frame, view);
  const isSeen = frame.pinned !== null && frame.pinned >= q[0] && frame.pinned < q[1];
  return { down: isSeen ? (frame.pinned + 0.5 - q[0]) / (q[1] - q[0]) : 0.5, across: 0.5 };
}

// A region small enough to be shown weight by weight.
function zoomToExact(frame, view) {
  const { q, k } = seenRegion(frame, view);
  const most = Math.max(q[1] - q[0], k[1] - k[0]);
  if (most > ZOOM.exact) zoomBy(frame, view, ZOOM.exact / most);
}

function showAll(frame, view) {
  lookAt(frame, view, whole(frame.data.region));
}

// What is there, laid where it belongs in the wanted region; where nothing is, the page shows.
function drawWanted(frame, context, view, layout) {
  const { region, palette } = frame.data;
  const [rows, columns] = view.matrix.shape;
  view.picture ??= cellsImage(
    { values: view.matrix.values, rows, columns },
    view.matrix.tops[0],
    frame.scale,
    colourTable(palette, frame.theme),
  );
  const scale = (side, length) => length / (view.want[side][1] - view.want[side][0]);
  const [down, across] = [scale("q", layout.height), scale("k", layout.width)];
  context.save();
  context.beginPath();
  context.rect(layout.x, layout.y, layout.width, layout.height);
  context.clip();
  context.imageSmoothingEnabled = false;
  context.drawImage(
    view.picture,
    layout.x + (region.k[0] - view.want.k[0]) * across,
    layout.y + (region.q[0] - view.want.q[0]) * down,
    columns * region.cells[1] * across,
    rows * region.cells[0] * down,
  );
  context.restore();
  drawGridLines(frame, context, { ...layout, cellWidth: 0, cellHeight: 0 }, 0, 0);
  drawAxisTitles(frame, context, layout);
}
