// The bar over a long map: buttons, what is shown, and a small whole map with a frame where we are.

const MINIMAP = 72;

function drawZoomBar(frame, view) {
  view.bar.hidden = !frame.data.region;
  if (!frame.data.region) return;
  if (!view.zoomNodes) openZoomBar(frame, view);
  const seen = seenRegion(frame, view);
  const { of } = frame.data.region;
  const { buttons, told } = view.zoomNodes;
  const isAll = isWhole(seen, of);
  const span = Math.max(seen.q[1] - seen.q[0], seen.k[1] - seen.k[0]);
  enable(buttons.out, !isAll);
  enable(buttons.whole, !isAll);
  enable(buttons.in, span > ZOOM.least);
  enable(buttons.exact, span > ZOOM.exact);
  const [q, k] = [seen.q, seen.k].map(spanText);
  const shown = phrase(frame, "zoom_shown", { q, k });
  told.textContent = view.want ? `${shown} · ${phrase(frame, "zoom_coming")}` : shown;
  drawMinimap(frame, view, seen);
}

// Kept focusable while disabled, so that the keyboard is not thrown out of the bar.
function enable(button, isOn) {
  button.setAttribute("aria-disabled", String(!isOn));
}

function openZoomBar(frame, view) {
  const acts = {
    in: ["+", () => zoomBy(frame, view, 0.5)],
    out: ["−", () => zoomBy(frame, view, 2)],
    exact: [phrase(frame, "zoom_exact"), () => zoomToExact(frame, view)],
    whole: [phrase(frame, "zoom_whole"), () => showAll(frame, view)],
  };
  const buttons = {};
  for (const [name, [text, act]] of Object.entries(acts)) {
    const button = element("button", "", text);
    button.type = "button";
    button.title = phrase(frame, `zoom_${name}_help`);
    button.setAttribute("aria-label", button.title);
    button.addEventListener("click", () => {
      if (button.getAttribute("aria-disabled") === "true") return;
      act();
      speak(frame, "zoom_shown", spokenRegion(frame, view));
    });
    buttons[name] = button;
  }
  const told = element("span", "told");
  const minimap = element("canvas", "minimap");
  minimap.setAttribute("role", "img");
  minimap.setAttribute("aria-label", phrase(frame, "zoom_minimap"));
  const group = element("span", "zoom-buttons", ...Object.values(buttons));
  view.bar.append(minimap, element("span", "zoom-words", group, told));
  view.zoomNodes = { buttons, told, minimap };
  minimapInput(frame, view, minimap);
}

function spokenRegion(frame, view) {
  const { q, k } = seenRegion(frame, view);
  return { q: spanText(q), k: spanText(k) };
}

function drawMinimap(frame, view, seen) {
  const context = fit(view.zoomNodes.minimap, MINIMAP, MINIMAP);
  const { of } = frame.data.region;
  if (view.overview) {
    const { values, shape, tops } = view.overview;
    const table = colourTable(frame.data.palette, frame.theme);
    const small = { values, rows: shape[0], columns: shape[1] };
    context.imageSmoothingEnabled = false;
    context.drawImage(cellsImage(small, tops[0], "sqrt", table), 1, 1, MINIMAP - 2, MINIMAP - 2);
  }
  context.strokeStyle = css(frame.theme.line);
  context.strokeRect(0.5, 0.5, MINIMAP - 1, MINIMAP - 1);
  const room = MINIMAP - 4;
  const box = {
    x: 2 + (room * seen.k[0]) / of[1],
    y: 2 + (room * seen.q[0]) / of[0],
    width: Math.max(3, (room * (seen.k[1] - seen.k[0])) / of[1]),
    height: Math.max(3, (room * (seen.q[1] - seen.q[0])) / of[0]),
  };
  ring(context, box, frame.theme);
}

// A press on the small map puts the middle of the region there; dragging takes it along.
function minimapInput(frame, view, minimap) {
  const centre = (event) => {
    const at = place(event, minimap);
    const { q, k } = seenRegion(frame, view);
    const { of } = frame.data.region;
    const middle = { q: (of[0] * at.y) / MINIMAP, k: (of[1] * at.x) / MINIMAP };
    moveBy(frame, view, middle.q - (q[0] + q[1]) / 2, middle.k - (k[0] + k[1]) / 2);
  };
  minimap.addEventListener("pointerdown", (event) => {
    minimap.setPointerCapture(event.pointerId);
    centre(event);
  });
  minimap.addEventListener("pointermove", (event) => event.buttons & 1 && centre(event));
}
