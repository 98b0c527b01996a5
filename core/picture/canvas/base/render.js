// The one entry: Streamlit and the offline page call it at first and on every change of data or theme.

const VIEWS = {
  mosaic: mountMosaic,
  map: mountMap,
  arcs: mountArcs,
  sentence: mountSentence,
  excerpt: mountExcerpt,
  patches: mountPatches,
  heat: mountHeat,
};

function render({ data, parentElement, setStateValue }) {
  const frame = (parentElement.headlight ??= openFrame(parentElement));
  frame.send = setStateValue;
  frame.data = opened(data);
  frame.width = Math.floor(frame.root.clientWidth) || frame.width;
  frame.theme = readTheme(frame.root);
  showStale(frame);
  showView(frame);
  frame.view.update();
  return () => closeFrame(frame);
}

// Map and arcs may change places in one frame; the pinned row stays.
function showView(frame) {
  if (frame.kind === frame.data.view) return;
  frame.view?.close?.();
  frame.content.replaceChildren();
  hideTip(frame);
  frame.kind = frame.data.view;
  frame.root.dataset.view = frame.kind;
  frame.view = VIEWS[frame.kind](frame);
}

function showStale(frame) {
  const isStale = Boolean(frame.data.stale);
  frame.root.classList.toggle("stale", isStale);
  frame.staleNote.hidden = !isStale;
  frame.staleNote.textContent = isStale ? phrase(frame, "stale") : "";
}
