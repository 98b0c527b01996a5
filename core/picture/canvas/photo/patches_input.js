// What surrounds the picture: its marks, pointer and keys, and the words and numbers below it.

function queryPatch(frame, view) {
  const query = view.asked ?? frame.data.query;
  return "row" in query ? query : null;
}

function drawPhotoMarks(frame, view) {
  const { layout } = view;
  const context = fit(view.picture.over, layout.width, layout.height);
  const query = view.ringed();
  if (query) drawPatchRing(frame, context, layout, query, { width: 3 });
  const cell = view.hovered ?? view.cursor;
  if (cell) drawPatchRing(frame, context, layout, cell, { width: 1.5, dash: [3, 3] });
}

function photoInput(frame, view) {
  const { over } = view.picture;
  over.addEventListener("pointermove", (event) => {
    if (!view.layout) return;
    const at = place(event, over);
    view.hovered = patchAt(view.layout, at);
    over.style.cursor = view.hovered ? "crosshair" : "default";
    tellPatch(frame, view, view.hovered, at);
    drawPhotoMarks(frame, view);
  });
  over.addEventListener("pointerleave", () => {
    view.hovered = null;
    hideTip(frame);
    if (view.layout) drawPhotoMarks(frame, view);
  });
  over.addEventListener("click", (event) => {
    const at = place(event, over);
    const patch = view.layout && patchAt(view.layout, at);
    if (!patch) return;
    // A finger taps without moving first: the tap tells the number too.
    tellPatch(frame, view, patch, at);
    view.pick?.(patch);
  });
  over.addEventListener("keydown", (event) => view.layout && photoKey(frame, view, event));
  over.addEventListener("blur", () => {
    view.cursor = null;
    hideTip(frame);
    if (view.layout) drawPhotoMarks(frame, view);
  });
}

function photoKey(frame, view, event) {
  const at = view.cursor ?? view.ringed();
  const next = stepped(at, event.key, ...frame.data.photo.grid);
  if (next) {
    view.cursor = next;
    view.hovered = null;
    const box = patchBox(view.layout, next);
    tellPatch(frame, view, next, { x: box.x + box.width, y: box.y });
    frame.spoken.textContent = view.describe(next);
  } else if (event.key === "Enter" && view.cursor) view.pick?.(view.cursor);
  else if (event.key === "Escape") {
    view.cursor = null;
    hideTip(frame);
  } else return;
  event.preventDefault();
  drawPhotoMarks(frame, view);
}

function tellPatch(frame, view, patch, at) {
  if (!patch) return hideTip(frame);
  return showTip(frame, inRoot(frame, view.picture.over, at), [[view.describe(patch)]]);
}

function describePatch(frame, view, { row, column }) {
  const index = headIndex(view);
  const value = headWeights(view, index)[row * frame.data.photo.grid[1] + column];
  const text = numberText(view.rows, value, view.rows.tops[index]);
  const words = { query: queryName(frame), row, column, value: text };
  return phrase(frame, `patch_${frame.data.direction}`, words);
}

function queryName(frame) {
  const { query, prefix_labels: labels } = frame.data;
  return "row" in query ? phrase(frame, "patch_name", query) : labels[query.prefix];
}

// The caption, and what the tokens that are not patches get.
function showPrefix(frame, view) {
  const { layer, head } = view.marks.chosen;
  const chosen = element("b", "", phrase(frame, "head", { layer, head }));
  const caption = phrase(frame, `caption_${frame.data.direction}`, { query: queryName(frame) });
  view.title.replaceChildren(chosen, ` · ${caption}`);
  const weights = frame.data.prefix?.[layer]?.[head] ?? [];
  view.prefix.replaceChildren(
    ...weights.map((weight, index) => {
      const names = { query: queryName(frame), label: frame.data.prefix_labels[index] };
      const name = element("span", "", phrase(frame, `prefix_${frame.data.direction}`, names));
      return element("span", "pair", name, element("b", "", exactNumber(weight)));
    }),
  );
  view.prefix.hidden = weights.length === 0;
}

function showPatchesLegend(frame, view) {
  const top = view.rows.tops[headIndex(view)];
  const bar = element("span", "bar photo-bar");
  bar.style.backgroundImage = gradient(photoTable(frame.data.palette), photoAlpha);
  const numbers = [0, top / 4, top].map((value) => element("span", "", shortNumber(value)));
  const nodes = [element("span", "scale", bar, element("span", "numbers", ...numbers))];
  if (isCropped(frame.data.photo)) nodes.push(notSeenSign(frame));
  view.legend.replaceChildren(...nodes);
}

function notSeenSign(frame) {
  return element("span", "sign", element("i", "hatched grey"), phrase(frame, "not_seen"));
}
