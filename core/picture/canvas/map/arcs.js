// The same head as lines: tokens that look on the left, tokens looked at on the right.

const ARCS = { allLines: 128, strongest: 400, tallest: 760, row: 22, numbers: 8, strong: 200 };

function mountArcs(frame) {
  const stage = openStage();
  const caption = element("p", "caption");
  frame.content.append(stage.node, caption);
  const view = { stage, caption, hovered: null, cursor: null };
  view.redraw = () => drawArcMarks(frame, view);
  view.draw = () => drawArcs(frame, view);
  view.update = () => updateArcs(frame, view);
  view.close = listenRows(frame, view);
  arcsInput(frame, view);
  return view;
}

async function updateArcs(frame, view) {
  if (!(await updateRows(frame, view))) return;
  const [rows, columns] = view.matrix.shape;
  view.lines = strongestLines(view.matrix);
  view.stage.over.setAttribute("aria-label", phrase(frame, "arcs_label", { rows, columns }));
  const isCut = Math.max(rows, columns) > ARCS.allLines;
  const note = isCut ? ` ${phrase(frame, "arcs_strongest", { count: view.lines.length })}` : "";
  view.caption.textContent = phrase(frame, "arcs_hint") + note;
  view.draw();
}

// Weakest first, so that the strong lines lie on top.
function strongestLines({ values, shape: [rows, columns], tops: [top] }) {
  const all = Array.from(values.keys()).filter((index) => values[index] > 0.01 * top);
  all.sort((one, other) => values[one] - values[other]);
  const kept = Math.max(rows, columns) > ARCS.allLines ? all.slice(-ARCS.strongest) : all;
  return kept.map((index) => [Math.floor(index / columns), index % columns, values[index] / top]);
}

function arcsLayout(frame, context) {
  const { queries, keys } = frame.data;
  context.font = labelFont(frame.theme);
  const most = Math.min(150, frame.width * 0.28);
  const left = Math.ceil(Math.min(most, widest(context, queries))) + 12;
  // Room for the numbers beside the labels on the right.
  const right = Math.ceil(Math.min(most, widest(context, keys))) + 56;
  const count = Math.max(queries.length, keys.length);
  const least = count <= ARCS.allLines ? 12 : 0;
  const row = Math.max(least, Math.min(ARCS.row, ARCS.tallest / count));
  const width = Math.min(frame.width, 640);
  return { left, right: width - right, width, row, y: 24, height: 24 + row * count + 6 };
}

function arcY(layout, index) {
  return layout.y + (index + 0.5) * layout.row;
}

function drawArcs(frame, view) {
  if (!view.lines || !frame.width) return;
  const layout = arcsLayout(frame, view.stage.base.getContext("2d"));
  view.layout = layout;
  const context = fit(view.stage.base, layout.width, layout.height);
  const { queries, keys } = frame.data;
  context.font = labelFont(frame.theme, 400, labelSize(layout.row));
  const every = labelStep(layout.row);
  for (let row = 0; row < queries.length; row += every) arcLabel(frame, context, layout, row, true);
  for (let row = 0; row < keys.length; row += every) arcLabel(frame, context, layout, row, false);
  context.fillStyle = css(frame.theme.muted);
  context.font = labelFont(frame.theme, 400, 11);
  context.textAlign = "right";
  context.fillText(phrase(frame, "axis_query"), layout.left - 6, 8);
  context.textAlign = "left";
  context.fillText(phrase(frame, "axis_key"), layout.right + 6, 8);
  drawArcMarks(frame, view);
}

function arcLabel(frame, context, layout, index, isQuery) {
  const labels = isQuery ? frame.data.queries : frame.data.keys;
  const width = isQuery ? layout.left - 12 : layout.width - layout.right - 56;
  context.textAlign = isQuery ? "right" : "left";
  context.textBaseline = "middle";
  context.fillStyle = css(mix(frame.theme.background, frame.theme.text, 0.85));
  const x = isQuery ? layout.left - 6 : layout.right + 6;
  context.fillText(clipped(context, labels[index], width), x, arcY(layout, index) + 0.5);
}

function drawArcMarks(frame, view) {
  const { layout } = view;
  if (!layout) return;
  const context = fit(view.stage.over, layout.width, layout.height);
  const focus = view.hovered ?? view.cursor ?? pinnedSide(frame);
  const colour = colourTable(frame.data.palette, frame.theme)[ARCS.strong];
  for (const [query, key, weight] of focus ? linesOf(view, focus) : view.lines) {
    drawArc(context, layout, query, key, css(colour, Math.max(0.04, weight)), 0.8 + 2.2 * weight);
  }
  if (focus) drawArcFocus(frame, context, view, focus);
}

function pinnedSide(frame) {
  const index = pinnedRow(frame);
  return index === null ? null : { side: "query", index };
}

// All lines of one token, on the token's own scale: none of them may be too faint to see.
function linesOf(view, { side, index }) {
  const weights = tokenWeights(view, side, index);
  const top = weights.reduce((most, weight) => Math.max(most, weight), 0);
  return Array.from(weights.keys())
    .filter((other) => weights[other] > 0.005 * top)
    .sort((one, other) => weights[one] - weights[other])
    .map((other) => {
      const pair = side === "query" ? [index, other] : [other, index];
      return [...pair, weights[other] / top];
    });
}

function tokenWeights(view, side, index) {
  if (side === "query") return rowOf(view.matrix, index);
  const [rows, columns] = view.matrix.shape;
  return Float32Array.from({ length: rows }, (_, row) => view.matrix.values[row * columns + index]);
}

function drawArc(context, layout, query, key, colour, width) {
  const [start, end] = [arcY(layout, query), arcY(layout, key)];
  const bend = (layout.right - layout.left) * 0.45;
  context.strokeStyle = colour;
  context.lineWidth = width;
  context.beginPath();
  context.moveTo(layout.left, start);
  context.bezierCurveTo(layout.left + bend, start, layout.right - bend, end, layout.right, end);
  context.stroke();
}

function drawArcFocus(frame, context, view, { side, index }) {
  const { layout } = view;
  const isQuery = side === "query";
  const isPinned = isQuery && index === pinnedRow(frame);
  const colour = isPinned ? frame.theme.accent : frame.theme.text;
  const y = arcY(layout, index);
  context.font = labelFont(frame.theme, 600);
  const labels = isQuery ? frame.data.queries : frame.data.keys;
  context.textAlign = isQuery ? "right" : "left";
  context.textBaseline = "middle";
  const room = isQuery ? layout.left - 12 : layout.width - layout.right - 56;
  const text = clipped(context, labels[index], room);
  const width = context.measureText(text).width + 10;
  pill(context, isQuery ? layout.left - 1 - width : layout.right + 1, y - 9, width, 18, colour);
  context.fillStyle = readableOn(colour);
  context.fillText(text, isQuery ? layout.left - 6 : layout.right + 6, y + 0.5);
  drawArcNumbers(frame, context, view, { side, index });
}

// The strongest few, each beside its token, none on top of another.
function drawArcNumbers(frame, context, view, { side, index }) {
  const { layout, matrix } = view;
  const weights = tokenWeights(view, side, index);
  const order = Array.from(weights.keys()).sort((one, other) => weights[other] - weights[one]);
  const taken = [];
  context.font = labelFont(frame.theme, 600, 11);
  context.textAlign = side === "query" ? "right" : "left";
  context.fillStyle = css(frame.theme.text);
  for (const other of order.slice(0, ARCS.numbers)) {
    const y = arcY(layout, other);
    if (weights[other] === 0 || taken.some((used) => Math.abs(used - y) < 12)) continue;
    taken.push(y);
    const x = side === "query" ? layout.width - 2 : layout.left + 4;
    context.fillText(numberText(matrix, weights[other], matrix.tops[0]), x, y + 0.5);
  }
}
