// The few controls that need no server: a choice of two, sliders, and playing through the layers.

const PLAY_PAUSE = 900; // milliseconds a layer stays

function segmented(label, choices, chosen, onChoose) {
  const buttons = choices.map(([value, text]) => {
    const button = element("button", "", text);
    button.type = "button";
    button.setAttribute("aria-pressed", String(value === chosen));
    button.addEventListener("click", () => onChoose(value));
    return button;
  });
  const group = element("span", "segmented", ...buttons);
  group.setAttribute("role", "group");
  group.setAttribute("aria-label", label);
  return group;
}

function slider(label, { least = 0, most, step = 1, value }, onInput) {
  const input = element("input");
  Object.assign(input, { type: "range", min: least, max: most, step, value });
  const shown = element("output", "", String(value));
  input.addEventListener("input", () => onInput(Number(input.value)));
  return { node: element("label", "slider", element("span", "", label), input, shown), input, shown };
}

function openControls(frame, view) {
  const node = element("div", "controls");
  view.controls = node;
  view.layerSlider = slider(phrase(frame, "layer"), { most: 1, value: 0 }, (layer) => {
    stopPlaying(frame, view);
    pickPatchesHead(frame, view, { ...view.marks.chosen, layer });
  });
  view.playButton = element("button", "play");
  view.playButton.type = "button";
  view.playButton.addEventListener("click", () => togglePlay(frame, view));
  view.switchNode = element("span");
  node.append(
    element("div", "layer-row", view.playButton, view.layerSlider.node),
    openOpacity(frame, view),
    view.switchNode,
  );
  return node;
}

function openOpacity(frame, view) {
  const { node, shown } = slider(phrase(frame, "opacity"), { most: 100, value: 80 }, (percent) => {
    view.opacity = percent / 100;
    shown.textContent = `${percent} %`;
    view.draw();
  });
  shown.textContent = "80 %";
  return node;
}

function showControls(frame, view) {
  const { layer } = view.marks.chosen;
  const most = view.rows.shape[0] - 1;
  view.layerSlider.input.max = most;
  view.layerSlider.input.value = layer;
  view.layerSlider.input.disabled = most === 0;
  view.layerSlider.shown.textContent = String(layer);
  const key = reducedMotion() ? "step" : view.playing ? "pause" : "play";
  view.playButton.textContent = { step: "▸|", pause: "❚❚", play: "▶" }[key];
  view.playButton.setAttribute("aria-label", phrase(frame, key));
  view.playButton.title = phrase(frame, key);
  showSmooth(frame, view);
}

function showSmooth(frame, view) {
  if (view.shownSmooth === view.smooth) return;
  view.shownSmooth = view.smooth;
  const choices = ["smooth", "patches"].map((name) => [name, phrase(frame, name)]);
  const chosen = view.smooth ? "smooth" : "patches";
  const group = segmented(phrase(frame, "overlay"), choices, chosen, (name) => {
    view.smooth = name === "smooth";
    view.draw();
    group.isConnected || view.switchNode.querySelector("[aria-pressed=true]").focus();
  });
  view.switchNode.replaceChildren(group);
}

function reducedMotion() {
  return window.matchMedia("(prefers-reduced-motion: reduce)").matches;
}

// Whoever asked for less motion steps by hand: one press, one layer.
function togglePlay(frame, view) {
  if (reducedMotion()) nextLayer(frame, view, true);
  else if (view.playing) stopPlaying(frame, view);
  else {
    view.playing = window.setInterval(() => nextLayer(frame, view, false), PLAY_PAUSE);
    nextLayer(frame, view, false);
  }
}

function nextLayer(frame, view, isChoice) {
  const layer = (view.marks.chosen.layer + 1) % view.rows.shape[0];
  const head = { ...view.marks.chosen, layer };
  if (isChoice) pickPatchesHead(frame, view, head);
  else {
    view.marks.chosen = head;
    view.draw();
  }
}

// While playing nothing goes to the server; where it stops is the choice.
function stopPlaying(frame, view) {
  if (!view.playing) return;
  window.clearInterval(view.playing);
  view.playing = null;
  pickPatchesHead(frame, view, view.marks.chosen);
}
