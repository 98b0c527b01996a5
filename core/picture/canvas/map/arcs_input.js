// Pointer and keys over the arcs: hover shows a token's lines alone, click or Enter pins it.

function arcTokenAt(frame, view, at) {
  const { layout } = view;
  const index = Math.floor((at.y - layout.y) / layout.row);
  const side = at.x < layout.width / 2 ? "query" : "key";
  const labels = side === "query" ? frame.data.queries : frame.data.keys;
  return index >= 0 && index < labels.length ? { side, index } : null;
}

function arcsInput(frame, view) {
  const { over } = view.stage;
  over.addEventListener("pointermove", (event) => {
    if (!view.layout) return;
    view.hovered = arcTokenAt(frame, view, place(event, over));
    over.style.cursor = view.hovered?.side === "query" ? "pointer" : "default";
    view.redraw();
  });
  over.addEventListener("pointerleave", () => {
    view.hovered = null;
    view.redraw();
  });
  over.addEventListener("click", (event) => {
    const token = view.layout && arcTokenAt(frame, view, place(event, over));
    if (token?.side === "query") pinRow(frame, view, token.index);
  });
  over.addEventListener("keydown", (event) => view.layout && arcsKey(frame, view, event));
  over.addEventListener("blur", () => {
    view.cursor = null;
    view.redraw();
  });
}

function arcsKey(frame, view, event) {
  const at = view.cursor && { row: view.cursor.index, column: view.cursor.side === "key" ? 1 : 0 };
  const next = stepped(at, event.key, Math.max(...view.matrix.shape), 2);
  if (next) moveArcCursor(frame, view, next);
  else if (event.key === "Enter" && view.cursor?.side === "query") {
    pinRow(frame, view, view.cursor.index);
  } else if (event.key === "Escape") letGo(frame, view);
  else return;
  event.preventDefault();
  view.redraw();
}

function moveArcCursor(frame, view, { row, column }) {
  const side = column === 1 ? "key" : "query";
  const most = view.matrix.shape[column] - 1;
  view.cursor = { side, index: Math.min(row, most) };
  view.hovered = null;
  speakStrongest(frame, view, view.cursor);
}

function speakStrongest(frame, view, { side, index }) {
  const weights = tokenWeights(view, side, index);
  const other = weights.reduce((best, weight, at) => (weight > weights[best] ? at : best), 0);
  const cell = side === "query" ? { row: index, column: other } : { row: other, column: index };
  const [key, values] = cellWords(frame, view, cell);
  speak(frame, key, values);
}
