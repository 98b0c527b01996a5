// The grid of all heads, layers down and heads across: shared by the mosaic and the thumbnails.

const HEADS = { gutter: 30, top: 36, tallest: 980, largest: 112, smallest: 8 };

// `aspect` is a tile's height over its width.
function headGrid(width, layers, heads, aspect) {
  const gap = width < 480 ? 2 : 4;
  const wide = (width - HEADS.gutter - 3) / heads - gap;
  const tall = ((HEADS.tallest - HEADS.top) / layers - gap) / aspect;
  // At least 36 pixels on the longer side, or nobody can tell one head from another.
  const readable = Math.max(tall, 36 / Math.max(1, aspect));
  const tileWidth = snapped(Math.max(HEADS.smallest, Math.min(wide, readable, HEADS.largest)));
  const tileHeight = snapped(tileWidth * aspect);
  return {
    layers,
    heads,
    gap,
    tileWidth,
    tileHeight,
    width,
    height: HEADS.top + layers * (tileHeight + gap) + 3,
  };
}

function tileBox(grid, { layer, head }) {
  return {
    x: HEADS.gutter + head * (grid.tileWidth + grid.gap),
    y: HEADS.top + layer * (grid.tileHeight + grid.gap),
    width: grid.tileWidth,
    height: grid.tileHeight,
  };
}

function headAt(grid, at) {
  const head = Math.floor((at.x - HEADS.gutter) / (grid.tileWidth + grid.gap));
  const layer = Math.floor((at.y - HEADS.top) / (grid.tileHeight + grid.gap));
  const inside = head >= 0 && head < grid.heads && layer >= 0 && layer < grid.layers;
  return inside ? { layer, head } : null;
}

function sameHead(one, other) {
  return one?.layer === other?.layer && one?.head === other?.head;
}

function drawHeadNumbers(frame, context, grid, chosen) {
  const { theme } = frame;
  const write = (text, x, y, strong) => {
    context.font = `${strong ? 700 : 400} 11px ${theme.font}`;
    context.fillStyle = css(strong ? theme.text : theme.muted);
    context.fillText(text, x, y);
  };
  context.textBaseline = "middle";
  context.textAlign = "left";
  write(`${phrase(frame, "axis_layer")} ↓   ${phrase(frame, "axis_head")} →`, 0, 8, false);
  context.textAlign = "center";
  const every = Math.ceil(16 / (grid.tileWidth + grid.gap));
  for (let head = 0; head < grid.heads; head += every) {
    const box = tileBox(grid, { layer: 0, head });
    write(head, box.x + box.width / 2, HEADS.top - 10, head === chosen?.head);
  }
  context.textAlign = "right";
  const everyLayer = Math.ceil(13 / (grid.tileHeight + grid.gap));
  for (let layer = 0; layer < grid.layers; layer += everyLayer) {
    const box = tileBox(grid, { layer, head: 0 });
    write(layer, HEADS.gutter - 8, box.y + box.height / 2, layer === chosen?.layer);
  }
}

function drawHeadMarks(frame, canvas, grid, { chosen, hovered, cursor }) {
  const context = fit(canvas, grid.width, grid.height);
  drawHeadNumbers(frame, context, grid, chosen);
  if (hovered) {
    const box = tileBox(grid, hovered);
    context.strokeStyle = css(frame.theme.text);
    context.strokeRect(box.x - 0.5, box.y - 0.5, box.width + 1, box.height + 1);
  }
  if (chosen) ring(context, tileBox(grid, chosen), frame.theme, { width: 3 });
  if (cursor) ring(context, tileBox(grid, cursor), frame.theme, { dash: [3, 3] });
}

// Pointer and keys over a grid of heads. `marks` is {chosen, hovered, cursor}; `redraw` shows it,
// `pick` takes a choice, `describe` gives the tooltip's lines.
function headInput(frame, canvas, { grid, marks, redraw, pick, describe }) {
  canvas.addEventListener("pointermove", (event) => {
    const at = place(event, canvas);
    marks.hovered = headAt(grid(), at);
    canvas.style.cursor = marks.hovered ? "pointer" : "default";
    if (marks.hovered) showTip(frame, inRoot(frame, canvas, at), describe(marks.hovered));
    else hideTip(frame);
    redraw();
  });
  canvas.addEventListener("pointerleave", () => {
    marks.hovered = null;
    hideTip(frame);
    redraw();
  });
  canvas.addEventListener("click", (event) => {
    const head = headAt(grid(), place(event, canvas));
    if (head) pick(head);
  });
  canvas.addEventListener("blur", () => {
    marks.cursor = null;
    redraw();
  });
  canvas.addEventListener("keydown", (event) => headKey(frame, event, { grid, marks, redraw, pick }));
}

// Arrows choose too, once they rest: a held key must not ask the server for every head it passes.
function rest(marks, pick) {
  window.clearTimeout(marks.resting);
  marks.resting = window.setTimeout(() => marks.cursor && pick(marks.cursor), 350);
}

function headKey(frame, event, { grid, marks, redraw, pick }) {
  const { layers, heads } = grid();
  const at = marks.cursor ?? marks.chosen;
  const next = stepped(at && { row: at.layer, column: at.head }, event.key, layers, heads);
  if (next) {
    marks.cursor = { layer: next.row, head: next.column };
    speak(frame, "head", marks.cursor);
    rest(marks, pick);
  } else if (event.key === "Enter" && marks.cursor) {
    window.clearTimeout(marks.resting);
    pick(marks.cursor);
  } else return;
  event.preventDefault();
  redraw();
}
