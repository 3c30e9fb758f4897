// The latencies of the stages: quantiles of the last minute, and histograms over time.

import { h, refill, say, table } from './page.js';
import { milliseconds, short, stageNames, stageText, wall } from './text.js';

/** The time of one column, and how many are kept. */
const columnTime = 5000;
const mostColumns = 120;

/** Samples by column of time and bucket, from counts since the start of the server. */
export class LatencyHistory {
  columns = [];
  bounds = [];
  #last = new Map();
  #startedAt;
  since;

  take(stats) {
    const now = stats.at.ms;
    // A server that has started anew counts from zero.
    const isSame = this.#startedAt === stats.server.started_at.ms;
    if (this.#startedAt && !isSame) this.#last.clear();
    const isFirst = this.#startedAt === undefined;
    this.#startedAt = stats.server.started_at.ms;
    this.since ??= now;
    const number = Math.floor(now / columnTime);
    let column = this.columns.at(-1);
    if (column?.number !== number) {
      column = { number, stages: new Map() };
      this.columns.push(column);
      while (this.columns[0].number <= number - mostColumns) this.columns.shift();
    }
    for (const { stage, bounds_ms: bounds, buckets } of stats.stages) {
      if (!buckets) continue;
      this.bounds = bounds;
      const last = this.#last.get(stage);
      this.#last.set(stage, buckets);
      // Samples from before the board was opened have no time.
      if (!last && isFirst) continue;
      const counts = column.stages.get(stage) ?? new Array(buckets.length).fill(0);
      buckets.forEach((value, index) => { counts[index] += Math.max(0, value - (last?.[index] ?? 0)); });
      column.stages.set(stage, counts);
    }
    if (isFirst) for (const name of stageNames) if (!this.#last.has(name)) this.#last.set(name, []);
  }
}

export class LatenciesView {
  #isShown = false;
  #drawnAt;
  #pictures = new Map();

  constructor(app) {
    this.app = app;
    this.quantiles = h('div', {});
    this.note = h('p', { class: 'quiet' });
    this.pictures = h('div', { class: 'histograms' });
    this.element = h('div', {}, h('h2', {}, 'Latencies of the last minute, ms'), this.quantiles,
      h('h2', {}, 'Over time'), this.note, this.pictures);
    matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => { this.#drawnAt = undefined; app.wake(); });
    new ResizeObserver(() => { this.#drawnAt = undefined; app.wake(); }).observe(this.pictures);
  }

  show() {
    this.#isShown = true;
    this.#drawnAt = undefined;
  }

  hide() { this.#isShown = false; }

  draw() {
    const { stats, latencies } = this.app;
    if (!this.#isShown || !stats || this.#drawnAt === stats.at.ms) return;
    this.#drawnAt = stats.at.ms;
    this.#drawQuantiles(stats);
    const isKnown = latencies.bounds.length > 0;
    say(this.note, isKnown
      ? `Each column is 5 s, each row a bucket of times; the stronger the colour, the more samples. Since ${wall(latencies.since)}, when `
        + `this board was opened; at most 10 min.`
      : 'No stage has had a sample since the board was opened.');
    for (const name of stageNames) this.#drawPicture(name, latencies);
  }

  #drawQuantiles(stats) {
    const columns = ['STAGE', 'COUNT', 'P50', 'P95', 'P99', 'MAX'].map((title, index) => ({ title, isRight: index > 0 }));
    const rows = stageNames.map((name) => {
      const stage = stats.stages.find((each) => each.stage === name);
      if (!stage) return [{ text: stageText(name), weight: 'quiet' }, '', '', '', '', ''];
      return [stageText(name), short(stage.count),
        ...[stage.p50_ms, stage.p95_ms, stage.p99_ms, stage.max_ms].map(milliseconds)];
    });
    refill(this.quantiles, table('Latencies of the last minute', columns, rows));
  }

  #picture(name) {
    let picture = this.#pictures.get(name);
    if (!picture) {
      const canvas = h('canvas', { role: 'img' });
      const element = h('figure', {}, h('figcaption', {}, stageText(name)), canvas);
      picture = { canvas, element };
      this.#pictures.set(name, picture);
      this.pictures.append(element);
    }
    return picture;
  }

  #drawPicture(name, { columns, bounds }) {
    const { canvas, element } = this.#picture(name);
    const all = columns.map(({ stages }) => stages.get(name));
    const highest = Math.max(0, ...all.flatMap((counts) => counts ?? []));
    element.hidden = highest === 0;
    if (highest === 0) return;
    const used = [...Array(bounds.length + 1).keys()].filter((row) => all.some((counts) => counts?.[row]));
    const [low, high] = [Math.max(0, used[0] - 1), Math.min(bounds.length, used.at(-1) + 1)];
    const total = all.reduce((sum, counts) => sum + (counts?.reduce((a, b) => a + b, 0) ?? 0), 0);
    canvas.setAttribute('aria-label', `${stageText(name)}: ${total} samples, from the bucket ${bucketText(bounds, used[0])} to `
      + `the bucket ${bucketText(bounds, used.at(-1))}`);
    paint(canvas, columns, all, bounds, low, high, highest);
  }
}

const bucketText = (bounds, row) => {
  const text = (ms) => (ms < 1000 ? `${ms} ms` : `${ms / 1000} s`);
  return row < bounds.length ? `≤ ${text(bounds[row])}` : `> ${text(bounds.at(-1))}`;
};

function paint(canvas, columns, all, bounds, low, high, highest) {
  const [labelWidth, rowHeight, foot] = [64, 14, 16];
  const width = canvas.parentElement.clientWidth;
  const height = rowHeight * (high - low + 1) + foot;
  const scale = devicePixelRatio;
  [canvas.width, canvas.height] = [width * scale, height * scale];
  canvas.style.width = `${width}px`;
  canvas.style.height = `${height}px`;
  const style = getComputedStyle(canvas);
  const context = canvas.getContext('2d');
  context.scale(scale, scale);
  context.font = '11px ui-monospace, monospace';
  context.textBaseline = 'middle';
  const first = columns.at(-1).number - mostColumns + 1;
  const step = (width - labelWidth) / mostColumns;
  for (let row = low; row <= high; row += 1) {
    const y = (high - row) * rowHeight;
    context.fillStyle = style.getPropertyValue('--quiet');
    context.textAlign = 'right';
    context.fillText(bucketText(bounds, row), labelWidth - 6, y + rowHeight / 2);
    context.fillStyle = style.getPropertyValue('--line');
    context.fillRect(labelWidth, y + rowHeight - 1, width - labelWidth, 1);
    context.fillStyle = style.getPropertyValue('--accent');
    columns.forEach(({ number }, index) => {
      const value = all[index]?.[row];
      if (!value) return;
      // The square root: few samples are seen beside many.
      context.globalAlpha = 0.2 + 0.8 * Math.sqrt(value / highest);
      context.fillRect(labelWidth + (number - first) * step, y, Math.max(1, step - 0.5), rowHeight - 1);
    });
    context.globalAlpha = 1;
  }
  context.fillStyle = style.getPropertyValue('--quiet');
  const y = height - foot / 2;
  context.textAlign = 'left';
  context.fillText(wall(first * columnTime), labelWidth, y);
  context.textAlign = 'right';
  context.fillText(wall((first + mostColumns) * columnTime), width, y);
}
