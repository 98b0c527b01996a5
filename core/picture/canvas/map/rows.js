// The pinned row: one at a time, shared by map, arcs and sentence of a run.

function rowOf(matrix, row) {
  const columns = matrix.shape[1];
  return matrix.values.subarray(row * columns, (row + 1) * columns);
}

// Map and arcs show one matrix; this decodes it, and keeps the pinned row true to it.
async function updateRows(frame, view) {
  const { data } = frame;
  const [matrix, masked] = await Promise.all([
    decoded(frame, data.values),
    decoded(frame, data.masked, decodeMask),
  ]);
  if (frame.data !== data) return false;
  Object.assign(view, { matrix, masked, noKey: new Set(data.no_key) });
  const before = frame.pinned;
  // Another run has other tokens: its rows are not these rows.
  const anotherRun = frame.pinnedRun !== data.run;
  if (anotherRun || frame.pinned >= queryCount(data)) frame.pinned = null;
  frame.pinnedRun = data.run;
  if (data.query != null && (anotherRun || data.query !== frame.sentQuery)) {
    frame.pinned = data.query;
  }
  frame.sentQuery = data.query;
  if (data.selected) tell(frame, "head", data.selected);
  if (data.region) tell(frame, "ask"); // the excerpt knows the row of a long text
  // A view that has just come with no row of its own must not let go of another's.
  if (before !== null || frame.pinned !== null) tellRow(frame, view);
  return true;
}

function tellAll(frame, view) {
  if (frame.data.selected) tell(frame, "head", frame.data.selected);
  tellRow(frame, view);
}

function tellRow(frame, view) {
  if (frame.data.region) return;
  const query = frame.pinned;
  const weights = query === null ? null : Array.from(rowOf(view.matrix, query));
  const texts = weights?.map((value) => numberText(view.matrix, value, view.matrix.tops[0]));
  const { queries, keys } = frame.data;
  const label = queries[query];
  tell(frame, "row", { query, label, keys, weights, texts, noKey: view.noKey.has(query) });
}

// The visitor's own choice: shown, spoken, told to the other views, and sent to the server.
function pinRow(frame, view, query, column = null) {
  if (frame.data.region) {
    askRow(frame, view, query, column);
    return;
  }
  frame.pinned = query === frame.pinned ? null : query;
  if (frame.pinned === null) speak(frame, "unpinned");
  else speak(frame, "pinned", { query: frame.data.queries[query] });
  view.redraw();
  tellRow(frame, view);
  choose(frame, "row", { query: frame.pinned });
}

function listenRows(frame, view) {
  return listen(frame, (message) => {
    if (!view.matrix) return;
    if (message.kind === "ask") tellAll(frame, view);
    if (message.kind === "row" && message.query !== frame.pinned) followRow(frame, view, message);
    if (message.kind === "row" && !("weights" in message)) followChoice(frame, view, message);
  });
}

function followRow(frame, view, { query }) {
  if (query >= queryCount(frame.data)) return;
  frame.pinned = query;
  view.redraw();
}

// A click in the sentence knows no weights: the map answers with them and informs the server.
function followChoice(frame, view, { query }) {
  tellRow(frame, view);
  choose(frame, "row", { query });
}

function unpin(frame, view) {
  if (frame.pinned === null) return;
  frame.pinned = null;
  speak(frame, "unpinned");
  view.redraw();
  tellRow(frame, view);
  choose(frame, "row", { query: null });
}

// What a token that is bytes is a part of, as lines of a tooltip; none for any other token.
function spelt(frame, side, index) {
  const whole = frame.data.spelt?.[side]?.[index];
  if (!whole) return [];
  const { queries, keys } = frame.data;
  const token = (side === "query" ? queries : keys)[index];
  return [sayNodes(frame.data.words, "bytes_of", { token, whole })];
}

// What there is to say about one cell: key of the sentence and the values in it.
function cellWords(frame, view, { row, column }) {
  const { queries, keys } = frame.data;
  const names = { query: queries[row], key: keys[column] };
  if (view.noKey.has(row)) return ["cell_no_key", names];
  const index = row * keys.length + column;
  if (view.masked?.[index]) return ["cell_masked", names];
  const value = numberText(view.matrix, view.matrix.values[index], view.matrix.tops[0]);
  return ["cell", { ...names, value }];
}
