// Wheel, drag and keys over a long map. The page's own scrolling is left alone: the wheel zooms with
// Ctrl, or while the map has the focus, and only as far as there is something to zoom.

const GESTURE = { drag: 4, line: 33, octave: 240, step: 0.25 };

function zoomInput(frame, view) {
  const { over } = view.stage;
  over.addEventListener("wheel", (event) => wheelZoom(frame, view, event), { passive: false });
  over.addEventListener("pointerdown", (event) => startDrag(frame, view, event));
  over.addEventListener("pointermove", (event) => drag(frame, view, event));
  for (const end of ["pointerup", "pointercancel"]) {
    over.addEventListener(end, () => {
      view.drag = null;
    });
  }
}

function canZoom(frame, view) {
  return Boolean(frame.data.region && view.layout);
}

function wheelZoom(frame, view, event) {
  if (!canZoom(frame, view)) return;
  const isActive = view.stage.over.getRootNode().activeElement === view.stage.over;
  if (!event.ctrlKey && !event.metaKey && !isActive) return;
  const pixels = event.deltaY * (event.deltaMode === 0 ? 1 : GESTURE.line);
  const seen = seenRegion(frame, view);
  if (pixels > 0 && isWhole(seen, frame.data.region.of) && !event.ctrlKey && !event.metaKey) return;
  event.preventDefault();
  const octaves = Math.max(-1, Math.min(1, pixels / GESTURE.octave));
  zoomBy(frame, view, 2 ** octaves, shareAt(view.layout, place(event, view.stage.over)));
}

function shareAt(layout, at) {
  const share = (value) => Math.max(0, Math.min(1, value));
  return {
    down: share((at.y - layout.y) / layout.height),
    across: share((at.x - layout.x) / layout.width),
  };
}

// A finger scrolls the page: only a mouse or a pen drags the map.
function startDrag(frame, view, event) {
  view.dragged = false;
  if (!canZoom(frame, view) || event.button !== 0 || event.pointerType === "touch") return;
  view.drag = { x: event.clientX, y: event.clientY, from: seenRegion(frame, view) };
}

function drag(frame, view, event) {
  if (!view.drag || !(event.buttons & 1)) return;
  const [x, y] = [event.clientX - view.drag.x, event.clientY - view.drag.y];
  if (!view.dragged && Math.hypot(x, y) < GESTURE.drag) return;
  if (!view.dragged) view.stage.over.setPointerCapture(event.pointerId);
  view.dragged = true;
  const { q, k } = view.drag.from;
  const { of } = frame.data.region;
  const { layout } = view;
  const queries = Math.round((-y / layout.height) * (q[1] - q[0]));
  const keys = Math.round((-x / layout.width) * (k[1] - k[0]));
  lookAt(frame, view, {
    q: inside(q[0] + queries, q[1] - q[0], of[0]),
    k: inside(k[0] + keys, k[1] - k[0], of[1]),
  });
}

// Plain arrows move the cursor, and the region where they reach its edge; true where taken.
function zoomKey(frame, view, event, next) {
  if (!canZoom(frame, view) || event.ctrlKey || event.metaKey || event.altKey) return false;
  const acts = {
    "+": () => zoomBy(frame, view, 0.5),
    "=": () => zoomBy(frame, view, 0.5),
    "-": () => zoomBy(frame, view, 2),
    0: () => showAll(frame, view),
  };
  const isAll = isWhole(seenRegion(frame, view), frame.data.region.of);
  const step = ARROWS[event.key];
  if (acts[event.key]) acts[event.key]();
  else if (event.key === "Escape" && !isAll) showAll(frame, view);
  else if (step && (event.shiftKey || atEdge(view, next)) && !isAll) moveByStep(frame, view, step);
  else return Boolean(view.want && (step || event.key === "Enter"));
  speak(frame, "zoom_shown", spokenRegion(frame, view));
  return true;
}

function atEdge(view, next) {
  const at = view.cursor;
  return Boolean(at && next && at.row === next.row && at.column === next.column);
}

function moveByStep(frame, view, [down, right]) {
  const { q, k } = seenRegion(frame, view);
  moveBy(
    frame,
    view,
    down * Math.ceil((q[1] - q[0]) * GESTURE.step),
    right * Math.ceil((k[1] - k[0]) * GESTURE.step),
  );
}
