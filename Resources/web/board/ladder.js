// A call as a ladder: a lane for each party, and the frames between them in the order of time.

import { h, svg } from './page.js';
import { stepFrame, stepText, stepWeight } from './steps.js';
import { cutInMiddle, exact, party } from './text.js';

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

export function ladder(detail) {
  const { names, hidden } = lanes(detail);
  const at = (lane) => timeWidth + laneWidth * (lane + 0.5);
  const lane = (where, entry) => {
    const name = where !== 'who' ? where : entry.user ? party(entry.user, entry.device_id) : 'server';
    return names.indexOf(name);
  };
  const entries = detail.timeline.filter((entry) => stepFrame(entry).slice(0, 2).every((where) => lane(where, entry) >= 0));
  const [width, height] = [timeWidth + laneWidth * names.length, headHeight + rowHeight * entries.length + 12];
  const picture = svg('svg', {
    width, height, viewBox: `0 0 ${width} ${height}`, role: 'img', 'aria-label': 'The steps below as a ladder of frames',
  });
  names.forEach((name, index) => picture.append(
    svg('line', { x1: at(index), x2: at(index), y1: headHeight - 8, y2: height, class: 'lane' }),
    svg('text', { x: at(index), y: 16, class: 'lane-name' }, svg('title', {}, name), cutInMiddle(name, 18))));
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
      svg('text', { x: start + 8, y: y + 4 }, cutInMiddle(stepText(entry), 44)))];
  }
  const direction = Math.sign(end - start);
  const label = entry.step === 'ended' ? `${frame} (${entry.detail})` : frame;
  return [svg('g', { class: `frame ${weight}` }, title,
    svg('line', { x1: start, x2: end - direction * 6, y1: y, y2: y }),
    svg('path', { d: `M${end} ${y}l${-direction * 8} -4v8z` }),
    svg('text', { x: start + direction * 10, y: y - 5, 'text-anchor': direction > 0 ? 'start' : 'end' }, label))];
}
