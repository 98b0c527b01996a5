// Views of one run tell each other about the pinned row and the chosen head, with no server trip.

const BUS = "headlight";

// kind 'row': {query, weights, top}; 'head': {layer, head}; 'ask': whoever knows answers.
function tell(frame, kind, detail = {}) {
  const message = { ...detail, kind, run: frame.data.run, sender: frame.id };
  window.dispatchEvent(new CustomEvent(BUS, { detail: message }));
}

// Returns the function that stops listening.
function listen(frame, hear) {
  const receive = ({ detail }) => {
    if (detail.run === frame.data.run && detail.sender !== frame.id) hear(detail);
  };
  window.addEventListener(BUS, receive);
  return () => window.removeEventListener(BUS, receive);
}
