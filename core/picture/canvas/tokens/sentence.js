// The tokens in reading order, shaded by what the pinned one looks at, or by values of their own.

// Marks that stand for a space or a line break: kept, but quiet.
const SPACE_MARKS = /([␣·▁Ġ␠↵⏎Ċ]+)/u;

function mountSentence(frame) {
  const list = element("div", "tokens");
  list.setAttribute("role", "group");
  const hint = element("p", "caption");
  const legend = element("div", "legend");
  frame.content.append(list, hint, legend);
  const view = { list, hint, legend, row: null, tokens: "" };
  view.draw = () => (frame.data.values ? shadeByValues : shadeTokens)(frame, view);
  view.update = () => updateSentence(frame, view);
  view.close = listen(frame, (message) => {
    if (message.kind !== "row" || !("weights" in message)) return;
    view.row = message.query === null ? null : message;
    view.draw();
  });
  return view;
}

function updateSentence(frame, view) {
  const { data } = frame;
  const label = data.values ? "heat_tokens" : "sentence_label";
  view.list.setAttribute("aria-label", phrase(frame, label, data));
  if (frame.shownRun !== data.run) view.row = null;
  frame.shownRun = data.run;
  const tokens = JSON.stringify([data.tokens, data.role, Boolean(data.values)]);
  if (tokens !== view.tokens) {
    view.list.replaceChildren(...data.tokens.map((token, index) => chip(frame, view, token, index)));
  }
  view.tokens = tokens;
  view.draw();
  if (!data.values) tell(frame, "ask");
}

function chip(frame, view, token, index) {
  const looks = frame.data.role !== "keys" && !frame.data.values;
  const node = element(looks ? "button" : "span", "chip", bdiToken(token));
  if (looks) {
    node.type = "button";
    node.addEventListener("click", () => {
      tell(frame, "row", { query: view.row?.query === index ? null : index });
    });
  }
  if (frame.data.values) tellValue(frame, node, index);
  return node;
}

function bdiToken(token) {
  const node = bdi("");
  for (const part of token.split(SPACE_MARKS)) {
    node.append(SPACE_MARKS.test(part) ? element("span", "space-mark", part) : part);
  }
  return node;
}

function shadeTokens(frame, view) {
  const { data } = frame;
  const table = colourTable(data.palette, frame.theme);
  const weights = data.role === "queries" ? null : view.row?.weights;
  const top = weights?.reduce((most, weight) => Math.max(most, weight), 0) ?? 0;
  Array.from(view.list.children).forEach((node, index) => {
    shadeChip(node, weights?.[index], top, table);
    node.title = chipTitle(frame, view, index);
    const isPinned = data.role !== "keys" && view.row?.query === index;
    node.classList.toggle("pinned", isPinned);
    if (node.tagName === "BUTTON") node.setAttribute("aria-pressed", String(isPinned));
  });
  view.hint.textContent = sentenceHint(frame, view.row, top);
}

function chipTitle(frame, view, index) {
  const whole = frame.data.spelt?.key?.[index];
  const token = frame.data.tokens[index];
  const parts = whole ? [phrase(frame, "bytes_of", { token, whole })] : [];
  return [view.row?.texts?.[index], ...parts].filter(Boolean).join(" · ");
}

function shadeChip(node, weight, top, table) {
  const colour = weight && top ? table[entryOf(weight, top, "linear")] : null;
  node.style.background = colour ? css(colour) : "";
  node.style.color = colour ? readableOn(colour) : "";
}

function sentenceHint(frame, row, top) {
  if (row === null) return phrase(frame, "sentence_hint");
  const query = row.label;
  if (row.noKey) return phrase(frame, "cell_no_key", { query });
  if (top === 0) return phrase(frame, "pinned", { query });
  const most = row.weights.indexOf(top);
  const words = { query, key: row.keys[most], value: row.texts[most] };
  return phrase(frame, "sentence_pinned", words);
}
