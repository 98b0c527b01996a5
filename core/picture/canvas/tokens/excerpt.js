// The passages of a long text that matter to one token, shaded by its exact weights over all keys.

function mountExcerpt(frame) {
  const list = element("div", "tokens");
  list.setAttribute("role", "group");
  const hint = element("p", "caption");
  frame.content.append(list, hint);
  const view = { list, hint };
  view.draw = () => drawExcerpt(frame, view);
  view.update = () => updateExcerpt(frame, view);
  view.close = listen(frame, (message) => {
    if (message.kind === "ask") tellExcerpt(frame);
  });
  return view;
}

function updateExcerpt(frame, view) {
  const { data } = frame;
  view.list.setAttribute("aria-label", phrase(frame, "excerpt_label", data));
  const nodes = [];
  data.passages.forEach(({ start, tokens, weights }, part) => {
    const before = part === 0 ? 0 : passageEnd(data.passages[part - 1]);
    gapNodes(frame, nodes, start - before, data.left_out[part]);
    tokens.forEach((token, index) => {
      nodes.push(excerptChip(frame, token, start + index, weights[index]));
    });
  });
  const last = data.passages.at(-1);
  gapNodes(frame, nodes, data.count - (last ? passageEnd(last) : 0), data.left_out.at(-1));
  view.list.replaceChildren(...nodes);
  view.draw();
  tellExcerpt(frame);
}

function passageEnd({ start, tokens }) {
  return start + tokens.length;
}

function tellExcerpt(frame) {
  tell(frame, "row", { query: frame.data.query, weights: null });
}

function gapNodes(frame, nodes, count, weight) {
  if (count === 0) return;
  const words = { count: count.toLocaleString("en"), weight: exactNumber(weight) };
  nodes.push(element("span", "gap", phrase(frame, "excerpt_gap", words)));
}

function excerptChip(frame, token, position, weight) {
  const { chooses, query } = frame.data;
  const node = element(chooses ? "button" : "span", "chip", bdiToken(token));
  const isPinned = chooses && position === query;
  const words = { position: position.toLocaleString("en"), value: exactNumber(weight) };
  node.title = phrase(frame, "excerpt_token", words);
  node.dataset.weight = weight;
  node.classList.toggle("pinned", isPinned);
  if (!chooses) return node;
  node.type = "button";
  node.setAttribute("aria-pressed", String(isPinned));
  node.addEventListener("click", () => choose(frame, "row", { query: position }));
  return node;
}

function drawExcerpt(frame, view) {
  const { palette, label, query } = frame.data;
  const chips = Array.from(view.list.querySelectorAll(".chip"));
  const weights = chips.map((node) => Number(node.dataset.weight));
  const top = weights.reduce((most, weight) => Math.max(most, weight), 0);
  const table = colourTable(palette, frame.theme);
  chips.forEach((node, index) => shadeChip(node, weights[index], top, table));
  const words = { query: label, position: query.toLocaleString("en") };
  view.hint.textContent = phrase(frame, "excerpt_hint", words);
}
