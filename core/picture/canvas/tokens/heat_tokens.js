// Tokens shaded by values of their own: nothing to pin, each tells its number.

function shadeByValues(frame, view) {
  const { data } = frame;
  const table = heatOnPage(data, frame.theme);
  Array.from(view.list.children).forEach((node, index) => {
    const entry = Math.round(255 * heatShare(data.values[index], data.scale));
    const colour = heatDistance(entry, data.scale) > 0 ? table[entry] : null;
    node.style.background = colour ? css(colour) : "";
    node.style.color = colour ? readableOn(colour) : "";
    node.setAttribute("aria-label", tokenWords(frame, index));
  });
  view.hint.hidden = true;
  view.legend.replaceChildren(...heatLegend(frame, table, () => 255, ""));
}

function tokenWords(frame, index) {
  const { data } = frame;
  const value = heatNumber(data, data.values[index]);
  return phrase(frame, "heat_token", { token: data.tokens[index], unit: data.unit, value });
}

function tellValue(frame, node, index) {
  node.tabIndex = 0;
  node.setAttribute("role", "note");
  const show = () => {
    const at = inRoot(frame, node, { x: node.clientWidth / 2, y: 0 });
    showTip(frame, at, [[tokenWords(frame, index)]]);
  };
  node.addEventListener("pointerenter", show);
  node.addEventListener("focus", show);
  for (const name of ["pointerleave", "blur"]) node.addEventListener(name, () => hideTip(frame));
}
