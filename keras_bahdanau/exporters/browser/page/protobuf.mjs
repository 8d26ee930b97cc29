// Protocol buffers, as far as a SentencePiece model needs them: a message is a list of fields.

/** [number, value] of each field of a message: a number, or the bytes of what is longer. */
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

/** The fields of a message by number, the last one of each number; `part` may be undefined. */
export function message(part) {
  return new Map(part ? fields(part) : []);
}

/** The number that four bytes of a message stand for. */
export function float32(bytes) {
  return new DataView(bytes.buffer, bytes.byteOffset, 4).getFloat32(0, true);
}
