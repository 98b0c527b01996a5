// Canvases that stay sharp on every screen, and the marks that all views draw alike.

function pixelRatio() {
  return window.devicePixelRatio || 1;
}

function fit(canvas, width, height) {
  const ratio = pixelRatio();
  canvas.width = Math.max(1, Math.round(width * ratio));
  canvas.height = Math.max(1, Math.round(height * ratio));
  canvas.style.width = `${width}px`;
  canvas.style.height = `${height}px`;
  const context = canvas.getContext("2d");
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.clearRect(0, 0, width, height);
  return context;
}

// A length that is a whole number of screen pixels, so that the edges of cells do not blur.
function snapped(length) {
  const ratio = pixelRatio();
  return Math.max(1, Math.floor(length * ratio)) / ratio;
}

// Where cells are smaller than a screen pixel, the strongest of those that share it is kept:
// plain shrinking would drop single bright cells.
function shrunk(values, rows, columns, outRows, outColumns) {
  if (outRows >= rows && outColumns >= columns) return { values, rows, columns };
  const [height, width] = [Math.min(rows, outRows), Math.min(columns, outColumns)];
  const strongest = new Float32Array(height * width);
  for (let row = 0; row < rows; row += 1) {
    const start = Math.floor((row * height) / rows) * width;
    for (let column = 0; column < columns; column += 1) {
      const cell = start + Math.floor((column * width) / columns);
      strongest[cell] = Math.max(strongest[cell], values[row * columns + column]);
    }
  }
  return { values: strongest, rows: height, columns: width };
}

// One pixel a cell; `alphaOf` makes weak cells see-through over a photograph.
function cellsImage({ values, rows, columns }, top, scale, table, alphaOf = () => 255) {
  const image = new ImageData(columns, rows);
  for (let index = 0; index < values.length; index += 1) {
    const entry = entryOf(values[index], top, scale);
    image.data.set(table[entry], 4 * index);
    image.data[4 * index + 3] = alphaOf(entry);
  }
  const canvas = document.createElement("canvas");
  canvas.width = columns;
  canvas.height = rows;
  canvas.getContext("2d").putImageData(image, 0, 0);
  return canvas;
}

function hatch(context, colour) {
  const ratio = pixelRatio();
  const tile = document.createElement("canvas");
  tile.width = tile.height = Math.round(6 * ratio);
  const lines = tile.getContext("2d");
  lines.scale(tile.width / 6, tile.width / 6);
  lines.strokeStyle = colour;
  lines.beginPath();
  // The corners too, so that the lines join from tile to tile.
  for (const shift of [-6, 0, 6]) {
    lines.moveTo(shift - 1, 7);
    lines.lineTo(shift + 7, -1);
  }
  lines.stroke();
  const pattern = context.createPattern(tile, "repeat");
  pattern.setTransform(new DOMMatrix().scale(1 / ratio));
  return pattern;
}

// A ring of the accent with a line of the background inside: it shows on every colour.
function ring(context, box, theme, { inside = theme.background, width = 2, dash = [] } = {}) {
  context.save();
  context.lineWidth = 1;
  context.strokeStyle = css(inside);
  context.strokeRect(box.x + 0.5, box.y + 0.5, box.width - 1, box.height - 1);
  context.lineWidth = width;
  context.setLineDash(dash);
  context.strokeStyle = css(theme.accent);
  const out = width / 2;
  context.strokeRect(box.x - out, box.y - out, box.width + width, box.height + width);
  context.restore();
}

const clippedLabels = new Map();

function clipped(context, label, width) {
  const key = `${context.font}|${Math.floor(width)}|${label}`;
  if (!clippedLabels.has(key)) {
    if (clippedLabels.size > 5000) clippedLabels.clear();
    clippedLabels.set(key, isolated(clip(context, label, width)));
  }
  return clippedLabels.get(key);
}

function clip(context, label, width) {
  if (context.measureText(label).width <= width) return label;
  const letters = Array.from(label);
  while (letters.length > 1 && context.measureText(`${letters.join("")}…`).width > width) {
    letters.pop();
  }
  return `${letters.join("")}…`;
}
