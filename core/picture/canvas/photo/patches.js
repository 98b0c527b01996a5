// One query on a picture: the chosen head large, and all heads as thumbnails beside it.

// Shares of the width, as in controls.css: the picture is what one came for.
const PANELS = [0.57, 0.43];

function mountPatches(frame) {
  const picture = openStage("photo");
  const thumbs = openStage();
  const view = { ...openPhoto(picture), thumbs, playing: null };
  view.marks = { chosen: null, hovered: null, cursor: null };
  view.title = element("p", "panel-title");
  view.prefix = element("p", "prefix");
  view.legend = element("div", "legend");
  view.hints = [element("p", "caption"), element("p", "caption")];
  const left = element("section", "panel", view.title, picture.node, view.prefix, view.legend);
  left.append(openControls(frame, view), view.hints[0]);
  const right = element("section", "panel", thumbs.node, view.hints[1]);
  view.panels = element("div", "panels", left, right);
  frame.content.append(view.panels);
  view.draw = () => drawPatches(frame, view);
  view.update = () => updatePatches(frame, view);
  view.close = () => window.clearInterval(view.playing);
  view.redrawThumbs = () => view.grid && drawHeadMarks(frame, thumbs.over, view.grid, view.marks);
  view.ringed = () => queryPatch(frame, view);
  view.pick = (patch) => pickQuery(frame, view, patch);
  view.describe = (patch) => describePatch(frame, view, patch);
  photoInput(frame, view);
  headInput(frame, thumbs.over, {
    grid: () => view.grid,
    marks: view.marks,
    redraw: view.redrawThumbs,
    pick: (head) => {
      stopPlaying(frame, view);
      pickPatchesHead(frame, view, head);
    },
    describe: (head) => [[phrase(frame, "head", head)]],
  });
  return view;
}

async function updatePatches(frame, view) {
  const { data } = frame;
  const [rows] = await Promise.all([decoded(frame, data.rows), loadPhoto(view, data.photo.url)]);
  if (frame.data !== data) return;
  view.rows = rows;
  view.asked = null;
  forgetOldHover(frame, view);
  const [layers, heads] = rows.shape;
  const selected = JSON.stringify(data.selected);
  if (view.sent !== selected) view.marks.chosen = data.selected ?? view.marks.chosen;
  view.sent = selected;
  view.marks.chosen ??= { layer: layers - 1, head: 0 };
  view.marks.chosen = {
    layer: Math.min(view.marks.chosen.layer, layers - 1),
    head: Math.min(view.marks.chosen.head, heads - 1),
  };
  const [gridRows, columns] = data.photo.grid;
  const names = { rows: gridRows, columns };
  view.picture.over.setAttribute("aria-label", phrase(frame, "photo_label", names));
  view.thumbs.over.setAttribute("aria-label", phrase(frame, "thumbs_label", { layers, heads }));
  view.hints[0].textContent = phrase(frame, "photo_hint");
  view.hints[1].textContent = phrase(frame, "thumbs_hint");
  view.draw();
}

// What was told of the query before is not true of this one; on touch nothing moves to correct it.
function forgetOldHover(frame, view) {
  const about = JSON.stringify([frame.data.query, frame.data.direction, frame.data.run]);
  if (view.about !== undefined && view.about !== about) {
    view.hovered = null;
    hideTip(frame);
  }
  view.about = about;
}

function pickPatchesHead(frame, view, head) {
  view.marks.chosen = head;
  view.draw();
  speak(frame, "head_chosen", head);
  choose(frame, "head", head);
}

// The server answers with the new weights; until then the ring already marks what was asked for.
function pickQuery(frame, view, patch) {
  view.asked = patch;
  speak(frame, "patch_query", patch);
  drawPhotoMarks(frame, view);
  choose(frame, "query", patch);
}

function headIndex(view) {
  const { layer, head } = view.marks.chosen;
  return layer * view.rows.shape[1] + head;
}

function headWeights(view, index) {
  const size = view.rows.shape[2];
  return view.rows.values.subarray(index * size, (index + 1) * size);
}

function drawPatches(frame, view) {
  if (!view.rows || !view.photo || !frame.width) return;
  const isWide = frame.width >= 720;
  view.panels.classList.toggle("wide", isWide);
  const [picture, thumbs] = isWide
    ? PANELS.map((share) => Math.floor((frame.width - 24) * share))
    : [frame.width, frame.width];
  drawPicture(frame, view, picture);
  drawThumbs(frame, view, thumbs);
  showPrefix(frame, view);
  showPatchesLegend(frame, view);
  showControls(frame, view);
}

function drawPicture(frame, view, width) {
  const { photo, palette } = frame.data;
  const index = headIndex(view);
  const [weights, top] = [headWeights(view, index), view.rows.tops[index]];
  drawOverlay(frame, view, width, weightsImage(weights, photo.grid, top, photoTable(palette)));
  drawPhotoMarks(frame, view);
}

function drawThumbs(frame, view, width) {
  const { photo, palette } = frame.data;
  const [layers, heads] = view.rows.shape;
  view.grid = headGrid(width, layers, heads, photo.height / photo.width);
  const context = fit(view.thumbs.base, view.grid.width, view.grid.height);
  const table = photoTable(palette);
  for (let index = 0; index < layers * heads; index += 1) {
    const box = tileBox(view.grid, { layer: Math.floor(index / heads), head: index % heads });
    const layout = photoLayout(photo, box.x, box.y, box.width);
    drawPhoto(context, view.image, layout, view.opacity);
    const image = weightsImage(headWeights(view, index), photo.grid, view.rows.tops[index], table);
    drawWeights(context, layout, image, view);
    if (isCropped(photo)) drawNotSeen(context, layout, false);
  }
  view.redrawThumbs();
}
