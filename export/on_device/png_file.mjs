// Decodes a PNG file in memory with Node's zlib, strictly: broken files are rejected.

import { inflateSync } from "node:zlib";

const SIGNATURE = [137, 80, 78, 71, 13, 10, 26, 10];
const GREY = 0, RGB = 2, PALETTE = 3, GREY_ALPHA = 4, RGBA = 6;  // color types
const NUMBERS = { [GREY]: 1, [RGB]: 3, [PALETTE]: 1, [GREY_ALPHA]: 2, [RGBA]: 4 };  // numbers per pixel
const DEPTHS = { [GREY]: [1, 2, 4, 8, 16], [RGB]: [8, 16], [PALETTE]: [1, 2, 4, 8], [GREY_ALPHA]: [8, 16], [RGBA]: [8, 16] };
// for each pass over an interlaced image: first column and row, and the steps between its pixels
const PASSES = [[0, 0, 8, 8], [4, 0, 8, 8], [0, 4, 4, 8], [2, 0, 4, 4], [0, 2, 2, 4], [1, 0, 2, 2], [0, 1, 1, 2]];
const CHECKS = Uint32Array.from({ length: 256 }, (_, number) => {
  let found = number;
  for (let bit = 0; bit < 8; ++bit) found = found & 1 ? 0xedb88320 ^ (found >>> 1) : found >>> 1;
  return found;
});

/** Reads the header and the other chunks and then, if the caller accepts them, the pixels. */
export class PngFile {
  /** Throws an Error if a chunk is missing or damaged; `content` is a Buffer. */
  constructor(content) {
    const chunks = [...chunksOf(content)];
    const of = (name) => chunks.filter((chunk) => chunk.name === name).map(({ body }) => body);
    const [header] = of("IHDR");
    if (chunks[0]?.name !== "IHDR" || header.length !== 13) throw new Error("it has no header");
    [this.width, this.height] = [header.readUInt32BE(0), header.readUInt32BE(4)];
    [this.depth, this.colour] = header.subarray(8);
    this.interlaced = header[12] === 1;
    const known = DEPTHS[this.colour]?.includes(this.depth) && header[10] === 0 && header[11] === 0 && header[12] < 2;
    if (!known || !this.width || !this.height) throw new Error("its header is wrong");
    [this.palette] = of("PLTE");
    if (this.colour === PALETTE && !this.palette?.length) throw new Error("it has no palette");
    this.alphas = this.alphasOf(of("tRNS")[0]);
    this.orientation = orientationOf(of("eXIf")[0]);
    this.packed = Buffer.concat(of("IDAT"));
  }

  /** Read the chunk for transparency: alpha of each palette color, or the transparent color; null if there is none. */
  alphasOf(body) {
    if (!body || this.hasAlpha) return null;
    if (this.colour === PALETTE) return body;
    if (body.length < 2 * NUMBERS[this.colour]) throw new Error("its transparency is wrong");
    const numbers = Array.from({ length: NUMBERS[this.colour] }, (_, place) => body.readUInt16BE(2 * place));
    return numbers.map((number) => number & 2 ** this.depth - 1);
  }

  get hasAlpha() {
    return this.colour === GREY_ALPHA || this.colour === RGBA;
  }

  /** Return {data, width, height, channels}: 1 for gray, 3 for color, 4 with alpha. Throws an Error for missing rows. */
  image() {
    const channels = this.hasAlpha || this.alphas ? 4 : this.colour === GREY ? 1 : 3;
    const data = new Uint8Array(this.width * this.height * channels);
    const passes = (this.interlaced ? PASSES : [[0, 0, 1, 1]]).map(([x, y, right, down]) => ({
      ...{ x, y, right, down },
      wide: Math.ceil((this.width - x) / right), high: Math.ceil((this.height - y) / down),
    })).filter(({ wide, high }) => wide > 0 && high > 0);
    const bits = this.depth * NUMBERS[this.colour];
    const size = passes.reduce((sum, { wide, high }) => sum + high * (1 + Math.ceil(wide * bits / 8)), 0);
    const rows = inflateSync(this.packed, { maxOutputLength: size + 1 });
    if (rows.length !== size) throw new Error("its number of pixels does not match its header");
    let place = 0;
    for (const { x, y, right, down, wide, high } of passes) {
      let before = new Uint8Array(Math.ceil(wide * bits / 8));
      for (let row = 0; row < high; ++row) {
        const line = unfiltered(rows[place], rows.subarray(place + 1, place + 1 + before.length), before, Math.ceil(bits / 8));
        place += 1 + line.length;
        for (let column = 0; column < wide; ++column) {
          const pixel = this.pixelOf(line, column);  // [red, green, blue, alpha]; gray uses only the first
          const at = ((y + row * down) * this.width + x + column * right) * channels;
          for (let c = 0; c < channels; ++c) data[at + c] = pixel[c];
        }
        before = line;
      }
    }
    return upright({ data, width: this.width, height: this.height, channels }, this.orientation);
  }

  /** Return [red, green, blue, alpha] of a pixel in a line, 8 bits each. */
  pixelOf(line, column) {
    const count = NUMBERS[this.colour];
    const numbers = [];
    for (let c = 0; c < count; ++c) numbers.push(this.numberAt(line, column * count + c));
    if (this.colour === PALETTE) {
      const [number] = numbers;
      if (3 * number + 3 > this.palette.length) throw new Error("its palette lacks a color");
      return [...this.palette.subarray(3 * number, 3 * number + 3), this.alphas?.[number] ?? 255];
    }
    const clear = this.alphas?.every((number, c) => number === numbers[c]);
    const bytes = numbers.map((number) => this.depth === 16 ? number >> 8 : number * 255 / (2 ** this.depth - 1));
    if (!this.hasAlpha) bytes.push(clear ? 0 : 255);
    return bytes.length === 2 ? [bytes[0], bytes[0], bytes[0], bytes[1]] : bytes;
  }

  /** Return a number of 1 to 16 bits in a line. */
  numberAt(line, index) {
    if (this.depth === 16) return line[2 * index] << 8 | line[2 * index + 1];
    if (this.depth === 8) return line[index];
    const bit = index * this.depth;
    return line[bit >> 3] >> 8 - this.depth - bit % 8 & (1 << this.depth) - 1;
  }
}

/** Return the EXIF orientation in the body of an eXIf chunk; 1 (upright) if unknown. */
function orientationOf(body) {
  const order = body?.toString("latin1", 0, 2);
  const [tag, place] = { II: ["1201030001000000", 8], MM: ["0112000300000001", 9] }[order] ?? [];
  const begin = tag ? body.indexOf(Buffer.from(tag, "hex")) : -1;
  const number = begin < 0 ? 1 : body[begin + place];
  return number >= 1 && number <= 8 ? number : 1;
}

/** Rotate and mirror an image so that it is upright. */
function upright(image, orientation) {
  if (orientation === 1) return image;
  const { data, width, height, channels } = image;
  const turned = orientation >= 5;
  const [wide, high] = turned ? [height, width] : [width, height];
  const found = new Uint8Array(data.length);
  for (let y = 0; y < high; ++y) {
    for (let x = 0; x < wide; ++x) {
      const column = [2, 3, 6, 7].includes(orientation) ? wide - 1 - x : x;
      const row = [3, 4, 7, 8].includes(orientation) ? high - 1 - y : y;
      const from = (turned ? column * width + row : row * width + column) * channels;
      for (let c = 0; c < channels; ++c) found[(y * wide + x) * channels + c] = data[from + c];
    }
  }
  return { data: found, width: wide, height: high, channels };
}

/** Yield {name, body} for each chunk up to the last. */
function* chunksOf(content) {
  if (!SIGNATURE.every((byte, place) => content[place] === byte)) throw new Error("its first bytes are not those of a PNG file");
  for (let place = 8; place + 12 <= content.length;) {
    const size = content.readUInt32BE(place);
    const end = place + 8 + size;
    if (end + 4 > content.length) break;
    let check = 0xffffffff;
    for (let byte = place + 4; byte < end; ++byte) check = CHECKS[(check ^ content[byte]) & 255] ^ (check >>> 8);
    if (content.readUInt32BE(end) !== (check ^ 0xffffffff) >>> 0) throw new Error("a checksum is wrong");
    const name = content.toString("latin1", place + 4, place + 8);
    yield { name, body: content.subarray(place + 8, end) };
    if (name === "IEND") return;
    place = end + 4;
  }
  throw new Error("its end is missing");
}

/** Undo the filter of a row, which encodes bytes relative to their neighbors on the left and above. */
function unfiltered(filter, row, before, size) {
  const line = new Uint8Array(row.length);
  for (let place = 0; place < row.length; ++place) {
    const left = place < size ? 0 : line[place - size];
    const corner = place < size ? 0 : before[place - size];
    const above = before[place];
    line[place] = row[place] + predicted(filter, left, above, corner);
  }
  return line;
}

function predicted(filter, left, above, corner) {
  switch (filter) {
    case 0: return 0;
    case 1: return left;
    case 2: return above;
    case 3: return left + above >> 1;
    case 4: {
      const [a, b, c] = [left, above, corner].map((one) => Math.abs(left + above - corner - one));
      return a <= b && a <= c ? left : b <= c ? above : corner;
    }
    default: throw new Error("it has an unknown filter");
  }
}
