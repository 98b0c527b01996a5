// Exact numbers out of the compact payloads of core/picture/canvas/encode.py.

function bytesOf(data) {
  if (data instanceof Uint8Array) return data;
  return Uint8Array.from(atob(data), (letter) => letter.charCodeAt(0));
}

async function inflate(data) {
  const stream = new Blob([bytesOf(data)])
    .stream()
    .pipeThrough(new DecompressionStream("deflate"));
  return new Response(stream).arrayBuffer();
}

// A matrix, or many heads on a scale of their own each (`tops`): values in reading order.
async function decodeValues(payload) {
  const levels = levelsOf(payload, await inflate(payload.data));
  const tops = payload.tops ?? [payload.top];
  const values = new Float32Array(levels.length);
  const size = levels.length / tops.length;
  tops.forEach((top, index) => {
    const valueOf = valuesOf(top, payload.bits);
    for (let at = index * size; at < (index + 1) * size; at += 1) values[at] = valueOf(levels[at]);
  });
  return { values, shape: payload.shape, tops, rough: payload.bits !== 16, step: payload.step };
}

function levelsOf({ bits, step, shape, by }, buffer) {
  if (bits === 16) return new Uint16Array(buffer);
  const bytes = new Uint8Array(buffer);
  if (by !== "column") return bytes;
  const columns = shape.at(-1);
  const rows = shape.reduce((product, side) => product * side, 1) / columns;
  const levels = new Uint8Array(rows * columns);
  for (let column = 0, at = 0; column < columns; column += 1) {
    for (let row = 0; row < rows; row += 1, at += 1) {
      const half = (bytes[at >> 1] >> (4 * (at & 1))) & 15;
      levels[row * columns + column] = bits === 4 ? Math.min(255, step * half) : bytes[at];
    }
  }
  return levels;
}

function valuesOf(top, bits) {
  if (bits === 16) return (level) => (top * level) / 65535;
  const known = Float32Array.from({ length: 256 }, (_, level) => top * (level / 255) ** 2);
  return (level) => known[level];
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
  const { data } = payload;
  const name = data instanceof Uint8Array ? nameOf(data) : data;
  const key = JSON.stringify({ ...payload, data: name });
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
