// How a map is drawn: cells, hatching and signs below, pins and crosshair above.

function drawMapBase(frame, view) {
  const { queries, keys } = frame.data;
  const context = view.stage.base.getContext("2d");
  const layout = mapLayout(frame, context, queries, keys, view.noKey.size > 0);
  view.layout = layout;
  // As wide as the frame, not as the cells: the last labels and titles may reach over the edge.
  const fitted = fit(view.stage.base, frame.width, layout.y + layout.height + 3);
  if (view.want) {
    drawWanted(frame, fitted, view, layout);
    return;
  }
  drawCells(frame, fitted, view, layout);
  drawMasked(frame, fitted, view, layout);
  drawGridLines(frame, fitted, layout, queries.length, keys.length);
  drawNoKey(frame, fitted, view, layout);
  drawLabels(frame, fitted, layout, queries, keys);
  drawAxisTitles(frame, fitted, layout);
}

function drawCells(frame, context, view, layout) {
  const [rows, columns] = view.matrix.shape;
  const pixels = [layout.height, layout.width].map((length) => Math.round(length * pixelRatio()));
  const small = shrunk(view.matrix.values, rows, columns, ...pixels);
  const table = colourTable(frame.data.palette, frame.theme);
  const image = cellsImage(small, view.matrix.tops[0], frame.scale, table);
  context.imageSmoothingEnabled = false;
  context.drawImage(image, layout.x, layout.y, layout.width, layout.height);
}

// Masked cells as runs along each row: one path, however many cells.
function drawMasked(frame, context, view, layout) {
  if (!view.masked) return;
  const [rows, columns] = view.matrix.shape;
  context.beginPath();
  for (let row = 0; row < rows; row += 1) {
    for (let start = 0; start < columns; ) {
      let end = start;
      while (end < columns && view.masked[row * columns + end]) end += 1;
      if (end > start) context.rect(...cellsBox(layout, row, start, end));
      start = end + 1;
    }
  }
  context.fillStyle = hatch(context, css(frame.theme.text, 0.22));
  context.fill();
}

function cellsBox(layout, row, start, end) {
  return [
    layout.x + start * layout.cellWidth,
    layout.y + row * layout.cellHeight,
    (end - start) * layout.cellWidth,
    layout.cellHeight,
  ];
}

function drawGridLines(frame, context, layout, rows, columns) {
  context.strokeStyle = css(frame.theme.line);
  context.lineWidth = 1;
  context.strokeRect(layout.x - 0.5, layout.y - 0.5, layout.width + 1, layout.height + 1);
  if (Math.min(layout.cellWidth, layout.cellHeight) < 9) return;
  context.strokeStyle = css(frame.theme.line, 0.55);
  context.beginPath();
  for (let row = 1; row < rows; row += 1) {
    const y = layout.y + row * layout.cellHeight - 0.5;
    context.moveTo(layout.x, y);
    context.lineTo(layout.x + layout.width, y);
  }
  for (let column = 1; column < columns; column += 1) {
    const x = layout.x + column * layout.cellWidth - 0.5;
    context.moveTo(x, layout.y);
    context.lineTo(x, layout.y + layout.height);
  }
  context.stroke();
}

// A row that may look nowhere is not a row of zeros: a line through it, and the empty-set sign.
function drawNoKey(frame, context, view, layout) {
  context.strokeStyle = context.fillStyle = css(frame.theme.muted);
  context.textAlign = "center";
  context.textBaseline = "middle";
  context.font = labelFont(frame.theme, 400, Math.max(9, Math.min(13, layout.cellHeight)));
  const step = labelStep(layout.cellHeight);
  for (const row of view.noKey) {
    const y = rowCentre(layout, row);
    context.lineWidth = Math.min(1.5, layout.cellHeight / 2);
    context.beginPath();
    context.moveTo(layout.x, y);
    context.lineTo(layout.x + layout.width, y);
    context.stroke();
    if (row % step === 0) context.fillText("∅", layout.x - 12, y + 0.5);
  }
}

function drawMapMarks(frame, view) {
  const { layout } = view;
  if (!layout) return;
  const context = fit(view.stage.over, frame.width, layout.y + layout.height + 3);
  if (view.want) return;
  const pinned = pinnedRow(frame);
  if (pinned !== null) drawPin(frame, context, layout, pinned);
  const cell = view.hovered ?? view.cursor;
  if (cell) drawCrosshair(frame, context, layout, cell);
}

function drawPin(frame, context, layout, row) {
  const y = layout.y + row * layout.cellHeight;
  const below = layout.y + layout.height - y - layout.cellHeight;
  context.fillStyle = css(frame.theme.background, 0.55);
  context.fillRect(layout.x, layout.y, layout.width, y - layout.y);
  context.fillRect(layout.x, y + layout.cellHeight, layout.width, below);
  const box = { x: layout.x, y, width: layout.width, height: Math.max(3, layout.cellHeight) };
  ring(context, box, frame.theme);
  rowPill(frame, context, layout, row, frame.theme.accent);
}

function drawCrosshair(frame, context, layout, { row, column }) {
  const x = layout.x + column * layout.cellWidth;
  const y = layout.y + row * layout.cellHeight;
  context.fillStyle = css(frame.theme.text, 0.07);
  context.fillRect(layout.x, y, x - layout.x, Math.max(1, layout.cellHeight));
  context.fillRect(x, layout.y, Math.max(1, layout.cellWidth), y - layout.y);
  context.strokeStyle = css(frame.theme.text);
  context.lineWidth = 1.5;
  const [width, height] = [layout.cellWidth, layout.cellHeight].map((size) => Math.max(3, size));
  context.strokeRect(x, y, width, height);
  if (row !== pinnedRow(frame)) rowPill(frame, context, layout, row, frame.theme.text);
  columnPill(frame, context, layout, column, frame.theme.text);
}

// The label of the row in hand, on a ground of its own: seen even where labels are thinned out.
function rowPill(frame, context, layout, row, colour) {
  const size = labelSize(Math.max(layout.cellHeight, LABELS.room));
  context.font = labelFont(frame.theme, 600, size);
  const end = rowLabelEnd(layout);
  const text = clipped(context, frame.data.queries[row], layout.rowLabel);
  const width = context.measureText(text).width + 8;
  pill(context, end - width + 4, rowCentre(layout, row) - 8, width, 16, colour);
  context.fillStyle = readableOn(colour);
  context.textAlign = "right";
  context.textBaseline = "middle";
  context.fillText(text, end, rowCentre(layout, row) + 0.5);
}

function columnPill(frame, context, layout, column, colour) {
  const size = labelSize(Math.max(layout.cellWidth, LABELS.room));
  context.font = labelFont(frame.theme, 600, size);
  const text = clipped(context, frame.data.keys[column], layout.columnLabel);
  const width = context.measureText(text).width + 8;
  pill(context, columnCentre(layout, column) - 8, layout.y - width - 2, 16, width, colour);
  context.fillStyle = readableOn(colour);
  drawColumnLabel(context, layout, frame.data.keys[column], column);
}

function pill(context, x, y, width, height, colour) {
  context.fillStyle = css(colour);
  context.beginPath();
  context.roundRect(x, y, width, height, 4);
  context.fill();
}
