// A picture with a grid of weights on the part that the model saw.

function openPhoto(picture) {
  const drawn = { picture, image: new Image(), photo: null, opacity: 0.8, smooth: false };
  return { ...drawn, hovered: null, cursor: null };
}

async function loadPhoto(view, url) {
  if (view.photo === url) return;
  view.image.src = url;
  await view.image.decode();
  view.photo = url;
}

// Where picture and grid lie when the picture is drawn `width` wide at (x, y).
function photoLayout(photo, x, y, width) {
  const scale = width / photo.width;
  const [left, top, right, bottom] = photo.seen;
  return {
    x,
    y,
    width,
    height: photo.height * scale,
    seen: {
      x: x + left * scale,
      y: y + top * scale,
      width: (right - left) * scale,
      height: (bottom - top) * scale,
    },
    grid: photo.grid,
  };
}

function patchBox(layout, { row, column }) {
  const { seen, grid } = layout;
  const width = seen.width / grid[1];
  const height = seen.height / grid[0];
  return { x: seen.x + column * width, y: seen.y + row * height, width, height };
}

function patchAt(layout, at) {
  const { seen, grid } = layout;
  const row = Math.floor(((at.y - seen.y) / seen.height) * grid[0]);
  const column = Math.floor(((at.x - seen.x) / seen.width) * grid[1]);
  const inside = row >= 0 && row < grid[0] && column >= 0 && column < grid[1];
  return inside ? { row, column } : null;
}

// Weak weights are see-through: zero shows the picture itself.
function photoAlpha(entry) {
  return Math.min(255, entry * 1.25);
}

function weightsImage(values, grid, top, table) {
  const cells = { values, rows: grid[0], columns: grid[1] };
  return cellsImage(cells, top, "sqrt", table, photoAlpha);
}

function drawWeights(context, layout, image, { opacity, smooth }) {
  const { seen } = layout;
  context.save();
  context.globalAlpha = opacity;
  context.imageSmoothingEnabled = smooth;
  context.imageSmoothingQuality = "high";
  // Smoothing reaches half a cell over the edge of the grid.
  context.beginPath();
  context.rect(seen.x, seen.y, seen.width, seen.height);
  context.clip();
  context.drawImage(image, seen.x, seen.y, seen.width, seen.height);
  context.restore();
}

// A dimmed picture carries the colours; the dimming grows with the overlay's opacity.
function drawPhoto(context, image, layout, opacity) {
  context.drawImage(image, layout.x, layout.y, layout.width, layout.height);
  context.fillStyle = `rgba(0, 0, 0, ${0.55 * opacity})`;
  context.fillRect(layout.x, layout.y, layout.width, layout.height);
}

// Picture, weights, and what was not seen. Tall pictures are fitted in height, so that their
// controls stay in view.
function drawOverlay(frame, view, width, image) {
  const { photo } = frame.data;
  const fitted = Math.min(width, (560 * photo.width) / photo.height);
  view.layout = photoLayout(photo, 0, 0, Math.floor(fitted));
  const context = fit(view.picture.base, view.layout.width, view.layout.height);
  drawPhoto(context, view.image, view.layout, view.opacity);
  drawWeights(context, view.layout, image, view);
  if (isCropped(photo)) drawNotSeen(context, view.layout, true);
}

function isCropped(photo) {
  const [left, top, right, bottom] = photo.seen;
  return left > 0.5 || top > 0.5 || right < photo.width - 0.5 || bottom < photo.height - 0.5;
}

function drawNotSeen(context, layout, isHatched) {
  const { seen } = layout;
  context.beginPath();
  context.rect(layout.x, layout.y, layout.width, layout.height);
  context.rect(seen.x, seen.y, seen.width, seen.height);
  context.fillStyle = "rgba(128, 128, 128, 0.72)";
  context.fill("evenodd");
  if (!isHatched) return;
  context.fillStyle = hatch(context, "rgba(255, 255, 255, 0.55)");
  context.fill("evenodd");
}

function drawPatchRing(frame, context, layout, patch, options) {
  ring(context, patchBox(layout, patch), frame.theme, { inside: [255, 255, 255], ...options });
}
