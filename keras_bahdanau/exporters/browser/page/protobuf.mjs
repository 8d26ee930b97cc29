// Reads protocol buffers as far as SentencePiece models need it: a message is a list of fields.

/** Return [number, value] for each field of a message. A value is a number or bytes. */
export function fields(bytes) {
  const found = [];
  let place = 0;
  const varint = () => {
    let value = 0;
    for (let factor = 1; place < bytes.length; factor *= 128) {
      const byte = bytes[place++];
      value += (byte & 127) * factor;
      if (byte < 128) break;
    }
    return value;
  };
  while (place < bytes.length) {
    const key = varint();
    const [number, kind] = [Math.floor(key / 8), key % 8];
    if (kind === 0) {
      found.push([number, varint()]);
      continue;
    }
    const size = kind === 2 ? varint() : kind === 5 ? 4 : 8;
    found.push([number, bytes.subarray(place, place += size)]);
  }
  return found;
}

/** Return a map from field numbers to the last value of each field; `part` may be undefined. */
export function message(part) {
  return new Map(part ? fields(part) : []);
}

/** Convert four bytes of a message to a number. */
export function float32(bytes) {
  return new DataView(bytes.buffer, bytes.byteOffset, 4).getFloat32(0, true);
}
