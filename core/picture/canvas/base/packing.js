// A view's data as it travels, opened: see core/picture/canvas/packing.py.

// Data that is no bytes came as it is. Opened once: a change of theme comes with the same bytes.
const openedBytes = new WeakMap();

function opened(data) {
  if (!(data instanceof Uint8Array)) return data;
  if (!openedBytes.has(data)) openedBytes.set(data, openBytes(data));
  return openedBytes.get(data);
}

function openBytes(bytes) {
  const length = new DataView(bytes.buffer, bytes.byteOffset).getUint32(0, true);
  const behind = bytes.subarray(4 + length);
  const inPlace = (_, value) =>
    value?.shape && Array.isArray(value.data)
      ? { ...value, data: behind.subarray(...value.data) }
      : value;
  const data = JSON.parse(new TextDecoder().decode(bytes.subarray(4, 4 + length)), inPlace);
  return { ...data, keys: data.keys ?? data.queries };
}

// A short name of bytes (FNV-1a), so that what was decoded from them is found again.
function nameOf(bytes) {
  let hash = 2166136261;
  for (const byte of bytes) hash = Math.imul(hash ^ byte, 16777619);
  return `${bytes.length} ${hash}`;
}
