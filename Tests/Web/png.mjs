// PNG files of Chromium, as brightness by cells.

import { inflateSync } from 'node:zlib';

const CHANNELS = { 2: 3, 6: 4 };

function paeth(left, up, corner) {
  const guess = left + up - corner;
  const [a, b, c] = [Math.abs(guess - left), Math.abs(guess - up), Math.abs(guess - corner)];
  return a <= b && a <= c ? left : b <= c ? up : corner;
}

/** RFC 2083, for eight bits a channel, with or without alpha, not interlaced. `{ width, height, channels, bytes }` */
export function decode(png) {
  const parts = [];
  let header;
  for (let at = 8; at < png.length;) {
    const length = png.readUInt32BE(at);
    const type = png.toString('latin1', at + 4, at + 8);
    const data = png.subarray(at + 8, at + 8 + length);
    if (type === 'IHDR') header = data;
    if (type === 'IDAT') parts.push(data);
    at += length + 12;
  }
  const [width, height, depth, channels] = [header.readUInt32BE(0), header.readUInt32BE(4), header[8], CHANNELS[header[9]]];
  if (depth !== 8 || !channels || header[12] !== 0) throw new Error('a PNG file of another kind');
  const raw = inflateSync(Buffer.concat(parts));
  const row = width * channels;
  const bytes = Buffer.alloc(row * height);
  for (let y = 0; y < height; y += 1) {
    const filter = raw[y * (row + 1)];
    for (let x = 0; x < row; x += 1) {
      const left = x >= channels ? bytes[y * row + x - channels] : 0;
      const up = y > 0 ? bytes[(y - 1) * row + x] : 0;
      const corner = x >= channels && y > 0 ? bytes[(y - 1) * row + x - channels] : 0;
      const guess = [0, left, up, (left + up) >> 1, paeth(left, up, corner)][filter];
      bytes[y * row + x] = raw[y * (row + 1) + 1 + x] + guess;
    }
  }
  return { width, height, channels, bytes };
}

/** Mean and standard deviation of the brightness of each cell, in 16 steps each: one byte a cell, row by row. */
export function cells({ width, height, channels, bytes }, size) {
  const columns = Math.ceil(width / size);
  const found = Buffer.alloc(columns * Math.ceil(height / size));
  for (let top = 0, index = 0; top < height; top += size) {
    for (let left = 0; left < width; left += size, index += 1) {
      let [sum, squares, count] = [0, 0, 0];
      for (let y = top; y < Math.min(top + size, height); y += 1) {
        for (let x = left; x < Math.min(left + size, width); x += 1) {
          const at = (y * width + x) * channels;
          const light = 0.299 * bytes[at] + 0.587 * bytes[at + 1] + 0.114 * bytes[at + 2];
          sum += light;
          squares += light * light;
          count += 1;
        }
      }
      const mean = sum / count;
      const deviation = Math.sqrt(Math.max(0, squares / count - mean * mean));
      found[index] = Math.min(15, mean / 16) << 4 | Math.min(15, Math.round(deviation / 5));
    }
  }
  return { columns, found };
}
