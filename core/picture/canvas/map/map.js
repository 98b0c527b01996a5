// The map of one head, token by token: hover tells, click or Enter pins a row, Esc unpins it.

function mountMap(frame) {
  const stage = openStage();
  const legend = element("div", "legend");
  const caption = element("p", "caption");
  const bar = element("div", "zoom");
  frame.content.append(bar, stage.node, legend, caption);
  const view = { stage, legend, caption, bar, hovered: null, cursor: null, want: null };
  view.redraw = () => drawMapMarks(frame, view);
  view.draw = () => drawMap(frame, view);
  view.update = () => updateMap(frame, view);
  const stopListening = listenRows(frame, view);
  view.close = () => {
    window.clearTimeout(view.asking);
    stopListening();
  };
  mapInput(frame, view);
  zoomInput(frame, view);
  return view;
}

async function updateMap(frame, view) {
  if (frame.sentScale !== frame.data.scale) frame.scale = frame.data.scale;
  frame.sentScale = frame.data.scale;
  if (!(await updateRows(frame, view))) return;
  const [rows, columns] = view.matrix.shape;
  view.stage.over.setAttribute("aria-label", phrase(frame, "map_label", { rows, columns }));
  view.caption.textContent = phrase(frame, frame.data.region ? "zoom_hint" : "map_hint");
  await updateZoom(frame, view);
  view.draw();
  comeIntoView(frame, view);
}

// On a phone the heads stand above the map: who taps one wants to see the map.
function comeIntoView(frame, view) {
  const head = JSON.stringify(frame.data.selected ?? null);
  if (view.head !== undefined && view.head !== head && window.innerWidth <= 640)
    frame.root.scrollIntoView({ behavior: "smooth", block: "nearest" });
  view.head = head;
}

function drawMap(frame, view) {
  if (!view.matrix || !frame.width) return;
  drawMapBase(frame, view);
  drawMapMarks(frame, view);
  drawLegend(frame, view);
  drawZoomBar(frame, view);
}

function drawLegend(frame, view) {
  const top = view.matrix.tops[0];
  const middle = frame.scale === "sqrt" ? top / 4 : top / 2;
  const bar = element("span", "bar");
  bar.style.background = gradient(colourTable(frame.data.palette, frame.theme));
  const numbers = [0, middle, top].map((value) => element("span", "", shortNumber(value)));
  const scale = element("span", "scale", bar, element("span", "numbers", ...numbers));
  view.legend.replaceChildren(scale, scaleSwitch(frame, view), ...signs(frame, view));
}

function scaleSwitch(frame, view) {
  const choices = ["linear", "sqrt"].map((scale) => [scale, phrase(frame, `scale_${scale}`)]);
  return segmented(phrase(frame, "scale_title"), choices, frame.scale, (scale) => {
    frame.scale = scale;
    choose(frame, "scale", { scale });
    view.draw();
    view.legend.querySelector("[aria-pressed=true]").focus();
  });
}

function signs(frame, view) {
  const nodes = [];
  if (view.masked) {
    nodes.push(element("span", "sign", element("i", "hatched"), phrase(frame, "masked")));
  }
  if (view.noKey.size > 0) {
    nodes.push(element("span", "sign", element("b", "", "∅"), phrase(frame, "no_key")));
  }
  return nodes;
}

function cellAt(view, at) {
  const { layout } = view;
  const [rows, columns] = view.matrix.shape;
  const row = Math.floor((at.y - layout.y) / layout.cellHeight);
  const column = Math.floor((at.x - layout.x) / layout.cellWidth);
  const inside = row >= 0 && row < rows && column >= 0 && column < columns;
  return inside ? { row, column } : null;
}

// A row may be pinned by its label too.
function mapRowAt(view, at) {
  const row = Math.floor((at.y - view.layout.y) / view.layout.cellHeight);
  const inside = row >= 0 && row < view.matrix.shape[0] && at.x < view.layout.right;
  return inside ? row : null;
}

function mapInput(frame, view) {
  const { over } = view.stage;
  over.addEventListener("pointermove", (event) => view.layout && hoverMap(frame, view, event));
  over.addEventListener("pointerleave", () => {
    view.hovered = null;
    hideTip(frame);
    view.redraw();
  });
  over.addEventListener("click", (event) => {
    if (!view.layout || view.want || view.dragged) return;
    // A finger taps without moving first: the tap tells the number too.
    hoverMap(frame, view, event);
    const row = mapRowAt(view, place(event, over));
    if (row !== null) pinRow(frame, view, row, view.hovered?.column ?? null);
  });
  over.addEventListener("keydown", (event) => view.layout && mapKey(frame, view, event));
  over.addEventListener("blur", () => {
    view.cursor = null;
    hideTip(frame);
    view.redraw();
  });
}

function hoverMap(frame, view, event) {
  const { over } = view.stage;
  const at = place(event, over);
  view.hovered = view.want ? null : cellAt(view, at);
  over.style.cursor = mapRowAt(view, at) === null ? "default" : "pointer";
  if (view.hovered) tellCell(frame, view, view.hovered, at);
  else hideTip(frame);
  view.redraw();
}

function tellCell(frame, view, cell, at) {
  const [key, values] = cellWords(frame, view, cell);
  const line = sayNodes(frame.data.words, key, values);
  const lines = [line, ...positionLines(frame, cell), ...spelt(frame, "query", cell.row)];
  if (cell.column !== cell.row) lines.push(...spelt(frame, "key", cell.column));
  showTip(frame, inRoot(frame, view.stage.over, at), lines);
}

function mapKey(frame, view, event) {
  const next = stepped(view.cursor, event.key, ...view.matrix.shape);
  if (zoomKey(frame, view, event, next)) {
    event.preventDefault();
    return;
  }
  if (next) moveCursor(frame, view, next);
  else if (event.key === "Enter" && view.cursor) {
    pinRow(frame, view, view.cursor.row, view.cursor.column);
  } else if (event.key === "Escape") letGo(frame, view);
  else return;
  event.preventDefault();
  view.redraw();
}

function moveCursor(frame, view, cell) {
  view.cursor = cell;
  view.hovered = null;
  const at = { x: columnCentre(view.layout, cell.column), y: rowCentre(view.layout, cell.row) };
  tellCell(frame, view, cell, at);
  const [key, values] = cellWords(frame, view, cell);
  speak(frame, key, values);
}

function letGo(frame, view) {
  view.cursor = null;
  hideTip(frame);
  unpin(frame, view);
}
