// The labels along a map: clipped, thinned out where there is no room, and right-to-left safe.

const LABELS = { size: 12, room: 11, largest: 34, tallest: 760 };

function labelFont(theme, weight = 400, size = LABELS.size) {
  return `${weight} ${size}px ${theme.font}`;
}

function widest(context, labels) {
  return labels.reduce((most, label) => Math.max(most, context.measureText(label).width), 0);
}

// Every n-th label, n from 1, 2, 5, 10, ...: the ones that a reader can count.
function labelStep(cell) {
  const wanted = LABELS.room / cell;
  for (let power = 1; ; power *= 10) {
    for (const step of [1, 2, 5]) {
      if (step * power >= wanted) return step * power;
    }
  }
}

function labelSize(cell) {
  return cell >= 14 ? LABELS.size : 10.5;
}

// Where everything of a map lies. Cells are square unless that would make the map very long.
function mapLayout(frame, context, queries, keys, hasSign) {
  if (frame.data.region) return steadyLayout(frame, queries, keys);
  context.font = labelFont(frame.theme);
  const most = frame.width < 480 ? 72 : 124;
  const rowLabel = Math.ceil(Math.min(most, widest(context, queries)));
  const columnLabel = Math.ceil(Math.min(most, widest(context, keys)));
  const left = 18 + rowLabel + (hasSign ? 16 : 0) + 6;
  const top = 18 + columnLabel + 6;
  const wide = Math.min(LABELS.largest, (frame.width - left - 3) / keys.length);
  const tall = Math.min(LABELS.largest, LABELS.tallest / queries.length);
  const [cellWidth, cellHeight] = [Math.min(wide, 4 * tall), Math.min(tall, 4 * wide)];
  const square = Math.min(cellWidth, cellHeight);
  // A map with as many rows as columns stays a square, however narrow its frame.
  const sides = [queries.length, keys.length];
  const uneven = Math.max(...sides) > 2 * Math.min(...sides);
  const isLong = uneven && Math.max(cellWidth, cellHeight) > 3 * square;
  const box = {
    x: left,
    y: top,
    cellWidth: wholeCells(isLong ? cellWidth : square),
    cellHeight: wholeCells(isLong ? cellHeight : square),
  };
  box.width = snapped(box.cellWidth * keys.length);
  box.height = snapped(box.cellHeight * queries.length);
  return { ...box, rowLabel, columnLabel, hasSign, right: left + box.width };
}

// A map that can be zoomed keeps its square, whatever region fills it.
function steadyLayout(frame, queries, keys) {
  const label = frame.width < 480 ? 60 : 104;
  const [x, y] = [18 + label + 16 + 6, 18 + label + 6];
  const side = snapped(Math.min(frame.width - x - 3, LABELS.tallest));
  return {
    x,
    y,
    width: side,
    height: side,
    cellWidth: side / keys.length,
    cellHeight: side / queries.length,
    rowLabel: label,
    columnLabel: label,
    hasSign: true,
    right: x + side,
  };
}

function wholeCells(cell) {
  return cell >= 2 ? snapped(cell) : cell;
}

function rowCentre(layout, row) {
  return layout.y + (row + 0.5) * layout.cellHeight;
}

function columnCentre(layout, column) {
  return layout.x + (column + 0.5) * layout.cellWidth;
}

function rowLabelEnd(layout) {
  return layout.x - 6 - (layout.hasSign ? 16 : 0);
}

function drawRowLabel(context, layout, label, row) {
  context.textAlign = "right";
  context.textBaseline = "middle";
  const text = clipped(context, label, layout.rowLabel);
  context.fillText(text, rowLabelEnd(layout), rowCentre(layout, row) + 0.5);
}

function drawColumnLabel(context, layout, label, column) {
  context.save();
  context.translate(columnCentre(layout, column), layout.y - 6);
  context.rotate(-Math.PI / 2);
  context.textAlign = "left";
  context.textBaseline = "middle";
  context.fillText(clipped(context, label, layout.columnLabel), 0, 0.5);
  context.restore();
}

function drawLabels(frame, context, layout, queries, keys) {
  context.fillStyle = css(mix(frame.theme.background, frame.theme.text, 0.85));
  const [down, across] = [labelStep(layout.cellHeight), labelStep(layout.cellWidth)];
  context.font = labelFont(frame.theme, 400, labelSize(layout.cellHeight));
  for (let row = 0; row < queries.length; row += down) {
    drawRowLabel(context, layout, queries[row], row);
  }
  context.font = labelFont(frame.theme, 400, labelSize(layout.cellWidth));
  for (let column = 0; column < keys.length; column += across) {
    drawColumnLabel(context, layout, keys[column], column);
  }
}

function drawAxisTitles(frame, context, layout) {
  context.font = labelFont(frame.theme, 400, 11);
  context.fillStyle = css(frame.theme.muted);
  context.textAlign = "left";
  context.textBaseline = "middle";
  context.fillText(`${phrase(frame, "axis_key")} →`, layout.x, 7);
  context.save();
  context.translate(7, layout.y);
  context.rotate(-Math.PI / 2);
  context.textAlign = "right";
  context.fillText(`← ${phrase(frame, "axis_query")}`, 0, 0);
  context.restore();
}
