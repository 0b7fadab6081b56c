// Makes PNGs of pages small enough for the repository: a palette of their 256 most frequent colors, a third of
// the size of 24 bits a pixel. Text on flat areas has few more, and those take the closest.
import { crc32, deflateSync, inflateSync } from "node:zlib";

const COLORS_MAX = 256;
/** The highest three bits of each channel. */
const KIND_MASK = 0xe0_e0_e0;
const SIGNATURE = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);

/** @param png of 8 bits a channel, without interlacing, as Chromium makes them. */
export function reduceColors(png: Buffer): Buffer {
  const { width, height, pixels } = decode(png);
  const counts = new Map<number, number>();
  for (const pixel of pixels) counts.set(pixel, (counts.get(pixel) ?? 0) + 1);
  const byCount = [...counts].toSorted((one, other) => other[1] - one[1]).map(([color]) => color);
  // The first of each kind of color comes before the hundredth shade of grey.
  const kinds = new Map(byCount.toReversed().map((color) => [color & KIND_MASK, color]));
  const palette = [...new Set([...kinds.values(), ...byCount])].slice(0, COLORS_MAX);
  const places = new Map(byCount.map((color) => [color, findClosest(palette, color)]));
  // A row begins with its filter: none, which suits palettes best.
  const rows = Buffer.alloc((width + 1) * height);
  pixels.forEach((pixel, at) => {
    rows[at + Math.floor(at / width) + 1] = places.get(pixel)!;
  });
  const head = Buffer.alloc(13);
  head.writeUInt32BE(width, 0);
  head.writeUInt32BE(height, 4);
  // 8 bits a pixel, of a palette.
  head.set([8, 3], 8);
  const colors = Buffer.from(
    palette.flatMap((color) => [color >> 16, (color >> 8) & 255, color & 255]),
  );
  return Buffer.concat([
    SIGNATURE,
    makeChunk("IHDR", head),
    makeChunk("PLTE", colors),
    makeChunk("IDAT", deflateSync(rows, { level: 9, memLevel: 9 })),
    makeChunk("IEND", Buffer.alloc(0)),
  ]);
}

function findClosest(palette: readonly number[], color: number): number {
  let [best, least] = [0, Infinity];
  palette.forEach((each, at) => {
    const red = (each >> 16) - (color >> 16);
    const green = ((each >> 8) & 255) - ((color >> 8) & 255);
    const blue = (each & 255) - (color & 255);
    const distance = red * red + green * green + blue * blue;
    if (distance < least) [best, least] = [at, distance];
  });
  return best;
}

function makeChunk(name: string, data: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from(name), data]);
  const ends = Buffer.alloc(8);
  ends.writeUInt32BE(data.length, 0);
  ends.writeUInt32BE(crc32(body), 4);
  return Buffer.concat([ends.subarray(0, 4), body, ends.subarray(4)]);
}

function decode(png: Buffer): { width: number; height: number; pixels: Uint32Array } {
  const [width, height] = [png.readUInt32BE(16), png.readUInt32BE(20)];
  const channels = png[25] === 6 ? 4 : 3;
  const data: Buffer[] = [];
  for (let at = SIGNATURE.length; at < png.length; at += png.readUInt32BE(at) + 12) {
    const length = png.readUInt32BE(at);
    if (png.toString("latin1", at + 4, at + 8) === "IDAT")
      data.push(png.subarray(at + 8, at + 8 + length));
  }
  const raw = inflateSync(Buffer.concat(data));
  const stride = width * channels;
  let above = new Uint8Array(stride);
  const pixels = new Uint32Array(width * height);
  for (let y = 0; y < height; y += 1) {
    const from = y * (stride + 1);
    const row = Uint8Array.from(raw.subarray(from + 1, from + 1 + stride));
    unfilter(raw[from] ?? 0, row, above, channels);
    for (let x = 0; x < width; x += 1) {
      const at = x * channels;
      pixels[y * width + x] =
        ((row[at] ?? 0) << 16) | ((row[at + 1] ?? 0) << 8) | (row[at + 2] ?? 0);
    }
    above = row;
  }
  return { width, height, pixels };
}

/** Undoes a row's filter, in place. */
function unfilter(filter: number, row: Uint8Array, above: Uint8Array, channels: number): void {
  for (let at = 0; at < row.length; at += 1) {
    const left = row[at - channels] ?? 0;
    const up = above[at] ?? 0;
    const corner = above[at - channels] ?? 0;
    let predicted = 0;
    if (filter === 1) predicted = left;
    else if (filter === 2) predicted = up;
    else if (filter === 3) predicted = (left + up) >> 1;
    else if (filter === 4) predicted = predictPaeth(left, up, corner);
    row[at] = (row[at] ?? 0) + predicted;
  }
}

function predictPaeth(left: number, up: number, corner: number): number {
  const sum = left + up - corner;
  const byLeft = Math.abs(sum - left);
  const byUp = Math.abs(sum - up);
  const byCorner = Math.abs(sum - corner);
  if (byLeft <= byUp && byLeft <= byCorner) return left;
  return byUp <= byCorner ? up : corner;
}
