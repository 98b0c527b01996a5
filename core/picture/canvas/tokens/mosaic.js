// The mosaic: one thumbnail a head. Choosing a head is the only thing that goes to the server.

function mountMosaic(frame) {
  const stage = openStage();
  const legend = element("div", "legend");
  const caption = element("p", "caption");
  frame.content.append(stage.node, legend, caption);
  const view = { stage, legend, caption, scale: "own", grids: null, grid: null, sent: undefined };
  view.marks = { chosen: null, hovered: null, cursor: null };
  view.redraw = () => view.grid && drawHeadMarks(frame, stage.over, view.grid, view.marks);
  view.draw = () => drawMosaic(frame, view);
  view.update = () => updateMosaic(frame, view);
  view.close = listen(frame, (message) => {
    if (message.kind === "head") markHead(view, message);
  });
  headInput(frame, stage.over, {
    grid: () => view.grid,
    marks: view.marks,
    redraw: view.redraw,
    pick: (head) => pickMosaicHead(frame, view, head),
    describe: (head) => mosaicTip(frame, view, head),
  });
  return view;
}

async function updateMosaic(frame, view) {
  const { data } = frame;
  const grids = await decoded(frame, data.grids);
  if (frame.data !== data) return;
  view.grids = grids;
  const [layers, heads] = view.grids.shape;
  view.stage.over.setAttribute("aria-label", phrase(frame, "mosaic_label", { layers, heads }));
  const selected = JSON.stringify(data.selected);
  if (view.sent !== selected) view.marks.chosen = data.selected;
  view.sent = selected;
  view.draw();
  tell(frame, "ask");
}

function markHead(view, { layer, head }) {
  if (sameHead(view.marks.chosen, { layer, head })) return;
  view.marks.chosen = { layer, head };
  view.redraw();
}

function pickMosaicHead(frame, view, head) {
  view.marks.chosen = head;
  view.redraw();
  speak(frame, "head_chosen", head);
  choose(frame, "head", head);
}

function mosaicTip(frame, view, head) {
  const lines = [[phrase(frame, "head", head)]];
  const top = view.grids?.tops[head.layer * view.grids.shape[1] + head.head];
  if (top !== undefined) lines.push([phrase(frame, "mosaic_top", { top: shortNumber(top) })]);
  const note = frame.data.notes?.[head.layer]?.[head.head];
  if (note) lines.push([element("span", "quiet", note)]);
  return lines;
}

function drawMosaic(frame, view) {
  if (!view.grids || !frame.width) return;
  const [layers, heads, rows, columns] = view.grids.shape;
  // Very long or flat maps are squeezed: a thumbnail must stay one that can be looked at.
  const aspect = Math.min(2, Math.max(0.5, rows / columns));
  view.grid = headGrid(frame.width, layers, heads, aspect);
  const context = fit(view.stage.base, view.grid.width, view.grid.height);
  context.imageSmoothingEnabled = false;
  const table = colourTable(frame.data.palette, frame.theme);
  for (let index = 0; index < layers * heads; index += 1) {
    drawThumbnail(frame, context, view, index, table);
  }
  drawMosaicLegend(frame, view);
  view.redraw();
}

// What the strongest colour of a head stands for: its own largest weight, or that of all heads.
function thumbnailTop(view, index) {
  return view.scale === "own" ? view.grids.tops[index] : Math.max(...view.grids.tops);
}

function drawMosaicLegend(frame, view) {
  const top = shortNumber(Math.max(...view.grids.tops));
  view.caption.textContent = phrase(frame, `mosaic_hint_${view.scale}`, { top });
  const choices = ["own", "one"].map((scale) => [scale, phrase(frame, `mosaic_scale_${scale}`)]);
  const group = segmented(phrase(frame, "mosaic_scale"), choices, view.scale, (scale) => {
    view.scale = scale;
    view.draw();
    view.legend.querySelector("[aria-pressed=true]").focus();
  });
  view.legend.replaceChildren(group);
}

function drawThumbnail(frame, context, view, index, table) {
  const [, heads, rows, columns] = view.grids.shape;
  const box = tileBox(view.grid, { layer: Math.floor(index / heads), head: index % heads });
  const size = rows * columns;
  const values = view.grids.values.subarray(index * size, (index + 1) * size);
  const pixels = [box.height, box.width].map((length) => Math.round(length * pixelRatio()));
  const small = shrunk(values, rows, columns, ...pixels);
  const image = cellsImage(small, thumbnailTop(view, index), "sqrt", table);
  context.drawImage(image, box.x, box.y, box.width, box.height);
  context.strokeStyle = css(frame.theme.line);
  context.strokeRect(box.x - 0.5, box.y - 0.5, box.width + 1, box.height + 1);
}
