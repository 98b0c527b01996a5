// What every view stands in: root, tooltip, spoken line, legend, and the size it may fill.

let framesMade = 0;

function element(name, className = "", ...children) {
  const node = document.createElement(name);
  if (className) node.className = className;
  node.append(...children);
  return node;
}

function openFrame(parent) {
  const root = element("div", "headlight");
  const frame = {
    id: (framesMade += 1),
    parent,
    root,
    content: element("div", "content"),
    tip: element("div", "tip"),
    spoken: element("div", "spoken"),
    staleNote: element("p", "stale-note"),
    decoded: new Map(),
    pinned: null,
    width: 0,
    view: null,
  };
  frame.tip.hidden = true;
  frame.spoken.setAttribute("aria-live", "polite");
  const probeNode = element("span", "probe");
  root.append(probeNode, frame.staleNote, frame.content, frame.tip, frame.spoken);
  parent.appendChild(root);
  watchWidth(frame);
  return frame;
}

function watchWidth(frame) {
  frame.resizing = new ResizeObserver(() => {
    const width = Math.floor(frame.root.clientWidth);
    if (width === frame.width || width === 0) return;
    frame.width = width;
    frame.view?.draw?.();
  });
  frame.resizing.observe(frame.root);
}

function closeFrame(frame) {
  frame.resizing.disconnect();
  frame.view?.close?.();
  frame.root.remove();
  delete frame.parent.headlight;
}

function phrase(frame, key, values) {
  return say(frame.data.words, key, values);
}

function speak(frame, key, values) {
  frame.spoken.textContent = phrase(frame, key, values);
}

// `at` is in the root's own pixels.
function showTip(frame, at, lines) {
  frame.tip.replaceChildren(...lines.map((line) => element("div", "", ...line)));
  frame.tip.hidden = false;
  const { offsetWidth, offsetHeight } = frame.tip;
  const left = Math.min(Math.max(0, at.x + 14), Math.max(0, frame.width - offsetWidth));
  const above = at.y - offsetHeight - 10;
  frame.tip.style.left = `${left}px`;
  frame.tip.style.top = `${above < 0 ? at.y + 18 : above}px`;
}

function hideTip(frame) {
  frame.tip.hidden = true;
}

// Two canvases: the picture, redrawn when the data changes, and the marks over it.
function openStage(className = "") {
  const base = element("canvas", "base");
  const over = element("canvas", "over");
  over.tabIndex = 0;
  over.setAttribute("role", "application");
  return { node: element("div", `stage ${className}`, base, over), base, over };
}

function place(event, canvas) {
  const box = canvas.getBoundingClientRect();
  return { x: event.clientX - box.left, y: event.clientY - box.top };
}

function inRoot(frame, canvas, at) {
  const outer = frame.root.getBoundingClientRect();
  const inner = canvas.getBoundingClientRect();
  return { x: at.x + inner.left - outer.left, y: at.y + inner.top - outer.top };
}

const ARROWS = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };

// The cell one step on, inside the grid; null where the key is no arrow.
function stepped(cell, key, rows, columns) {
  if (!ARROWS[key]) return null;
  const [down, right] = ARROWS[key];
  if (!cell) return { row: 0, column: 0 };
  return {
    row: Math.min(rows - 1, Math.max(0, cell.row + down)),
    column: Math.min(columns - 1, Math.max(0, cell.column + right)),
  };
}

// A choice carries the time: choosing the same thing again is still a choice.
function choose(frame, name, value) {
  frame.send(name, value === null ? null : { ...value, turn: Date.now() });
}
