// A call as a ladder: a lane for each party, and the frames between them in the order of time.

import { h, svg } from './page.js';
import { stepFrame, stepText, stepWeight } from './steps.js';
import { cutInMiddle, cutToWidth, exact, party } from './text.js';

/** The most devices with a lane of their own. */
const mostDevices = 8;
const [timeWidth, laneWidth, rowHeight, headHeight] = [72, 120, 30, 34];

function lanes({ call, legs, pushes, timeline }) {
  const caller = party(call.from, call.from_device_id);
  const names = [caller, 'server'];
  if (pushes.length) names.push('provider');
  const devices = new Set(legs.map((leg) => party(leg.user, leg.device_id)));
  for (const entry of timeline) if (entry.user) devices.add(party(entry.user, entry.device_id));
  devices.delete(caller);
  names.push(...[...devices].slice(0, mostDevices));
  return { names, hidden: Math.max(0, devices.size - mostDevices) };
}

/** A function that measures a text in a font of the style sheet, in pixels. */
function measureIn(weight) {
  const context = document.createElement('canvas').getContext('2d');
  context.font = `${weight} 12px system-ui, sans-serif`;
  return (text) => context.measureText(text).width;
}

/** The words of a step without a frame stand beside their dot, and may go beyond the last lane. */
const noteText = (entry) => cutInMiddle(stepText(entry), 44);
const noteStart = 8;

export function ladder(detail) {
  const { names, hidden } = lanes(detail);
  const at = (lane) => timeWidth + laneWidth * (lane + 0.5);
  const lane = (where, entry) => {
    const name = where !== 'who' ? where : entry.user ? party(entry.user, entry.device_id) : 'server';
    return names.indexOf(name);
  };
  const entries = detail.timeline.filter((entry) => stepFrame(entry).slice(0, 2).every((where) => lane(where, entry) >= 0));
  const measure = measureIn(400);
  const ends = entries.filter((entry) => new Set(stepFrame(entry).slice(0, 2).map((where) => lane(where, entry))).size === 1)
    .map((entry) => at(lane(stepFrame(entry)[0], entry)) + noteStart + measure(noteText(entry)) + 4);
  const width = Math.ceil(Math.max(timeWidth + laneWidth * names.length, ...ends));
  const height = headHeight + rowHeight * entries.length + 12;
  const picture = svg('svg', {
    width, height, viewBox: `0 0 ${width} ${height}`, role: 'img', 'aria-label': 'The steps below as a ladder of frames',
  });
  const measureName = measureIn(600);
  names.forEach((name, index) => picture.append(
    svg('line', { x1: at(index), x2: at(index), y1: headHeight - 8, y2: height, class: 'lane' }),
    svg('text', { x: at(index), y: 16, class: 'lane-name' }, svg('title', {}, name), cutToWidth(name, laneWidth - 8, measureName))));
  entries.forEach((entry, index) => {
    const y = headHeight + rowHeight * index + 18;
    const [from, to, frame] = stepFrame(entry);
    picture.append(svg('text', { x: timeWidth - 10, y: y + 4, class: 'time' }, exact(entry.offset_ms)),
      ...mark(at(lane(from, entry)), at(lane(to, entry)), y, frame, entry));
  });
  const more = hidden ? h('p', { class: 'quiet' }, `${hidden} more devices stand in the table only`) : '';
  return h('div', { class: 'ladder', tabindex: 0, role: 'region', 'aria-label': 'Ladder' }, picture, more);
}

/** An arrow with its frame's name; without a frame, a dot on the lane with the step's words. */
function mark(start, end, y, frame, entry) {
  const weight = stepWeight(entry.step);
  const title = svg('title', {}, stepText(entry));
  if (start === end) {
    return [svg('g', { class: `note ${weight}` }, title, svg('circle', { cx: start, cy: y, r: 3.5 }),
      svg('text', { x: start + noteStart, y: y + 4 }, noteText(entry)))];
  }
  const direction = Math.sign(end - start);
  const label = entry.step === 'ended' ? `${frame} (${entry.detail})` : frame;
  return [svg('g', { class: `frame ${weight}` }, title,
    svg('line', { x1: start, x2: end - direction * 6, y1: y, y2: y }),
    svg('path', { d: `M${end} ${y}l${-direction * 8} -4v8z` }),
    svg('text', { x: start + direction * 10, y: y - 5, 'text-anchor': direction > 0 ? 'start' : 'end' }, label))];
}
