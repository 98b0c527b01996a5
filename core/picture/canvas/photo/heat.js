// A heat map: one value a patch over the picture, of one sign or of both.

function mountHeat(frame) {
  const view = openPhoto(openStage("photo"));
  const nodes = { title: element("p", "panel-title"), legend: element("div", "legend") };
  Object.assign(view, nodes, { switchNode: element("span"), ringed: () => null });
  const controls = element("div", "controls", openOpacity(frame, view), view.switchNode);
  frame.content.append(view.title, view.picture.node, view.legend, controls);
  view.describe = (patch) => describeHeat(frame, view, patch);
  view.draw = () => drawHeat(frame, view);
  view.update = () => updateHeat(frame, view);
  photoInput(frame, view);
  return view;
}

async function updateHeat(frame, view) {
  const { data } = frame;
  const [above] = await Promise.all([
    decoded(frame, data.values.above),
    loadPhoto(view, data.photo.url),
  ]);
  if (frame.data !== data) return;
  view.values = above.values.map((value) => value + data.values.least);
  view.title.replaceChildren(element("b", "", data.title));
  const [rows, columns] = data.photo.grid;
  const names = { rows, columns, unit: data.unit };
  view.picture.over.setAttribute("aria-label", phrase(frame, "heat_label", names));
  view.draw();
}

function describeHeat(frame, view, { row, column }) {
  const { data } = frame;
  const value = heatNumber(data, view.values[row * data.photo.grid[1] + column]);
  return phrase(frame, "heat_patch", { row, column, unit: data.unit, value });
}

function drawHeat(frame, view) {
  if (!view.values || !frame.width) return;
  const { data } = frame;
  const [rows, columns] = data.photo.grid;
  const { table, alphaOf } = heatOnPhoto(data);
  const values = view.values.map((value) => heatShare(value, data.scale));
  const image = cellsImage({ values, rows, columns }, 1, "linear", table, alphaOf);
  drawOverlay(frame, view, frame.width, image);
  drawPhotoMarks(frame, view);
  showSmooth(frame, view);
  view.legend.replaceChildren(...heatLegend(frame, table, alphaOf, "photo-bar"));
  if (isCropped(data.photo)) view.legend.append(notSeenSign(frame));
}
