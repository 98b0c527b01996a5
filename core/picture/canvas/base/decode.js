// Exact numbers out of the compact payloads of core/picture/encode.py.

function bytesOf(base64) {
  return Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0));
}

async function inflate(base64) {
  const stream = new Blob([bytesOf(base64)])
    .stream()
    .pipeThrough(new DecompressionStream("deflate"));
  return new Response(stream).arrayBuffer();
}

// A matrix, or many heads on a scale of their own each (`tops`): values in reading order.
async function decodeValues(payload) {
  const buffer = await inflate(payload.data);
  const levels = payload.bits === 16 ? new Uint16Array(buffer) : new Uint8Array(buffer);
  const tops = payload.tops ?? [payload.top];
  const values = new Float32Array(levels.length);
  const size = levels.length / tops.length;
  for (let index = 0; index < levels.length; index += 1) {
    values[index] = levelValue(levels[index], tops[Math.floor(index / size)], payload.bits);
  }
  return { values, shape: payload.shape, tops, rough: payload.bits === 8, step: payload.step };
}

function levelValue(level, top, bits) {
  return bits === 16 ? (top * level) / 65535 : top * (level / 255) ** 2;
}

// One byte a cell: 1 where a query may not look.
async function decodeMask(payload) {
  const packed = new Uint8Array(await inflate(payload.data));
  const cells = new Uint8Array(payload.shape[0] * payload.shape[1]);
  for (let index = 0; index < cells.length; index += 1) {
    cells[index] = (packed[index >> 3] >> (index & 7)) & 1;
  }
  return cells;
}

// Decodes once for each payload: a change of theme or selection comes with the same one. All of it
// is the key: two heads may have the same levels under another maximum.
async function decoded(frame, payload, decode = decodeValues) {
  if (!payload) return null;
  const key = JSON.stringify(payload);
  const known = frame.decoded.get(key);
  if (known) return known;
  const result = await decode(payload);
  if (frame.decoded.size > 7) frame.decoded.clear();
  frame.decoded.set(key, result);
  return result;
}

// A weight as a person reads it: all its digits, or 'about' where the payload rounded it.
function numberText(matrix, value, top) {
  return matrix.rough ? roughNumber(value, top, matrix.step) : exactNumber(value);
}
