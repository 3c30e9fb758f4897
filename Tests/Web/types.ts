// What a page in TypeScript writes. Compiled against Resources/web/reveille.d.ts by Tests/Web/run, and never run.

import { Call, Connection, Media, ReveilleError, Session } from '../../Resources/web/reveille.js';
import { WebPush } from '../../Resources/web/webpush.js';

const session = new Session({
  url: 'wss://calls.example.com',
  token: async ({ signal }) => {
    const response = await fetch('/call-token', { signal });
    if (!response.ok) throw new Error(`status ${response.status}`);
    return (await response.text()).trim();
  },
  times: { request: 5_000 },
});
session.addEventListener('incoming', async ({ detail: { call } }) => {
  const media = new Media(call, { audio: { echoCancellation: true } });
  const name: string = call.peer;
  media.addEventListener('quality', ({ detail }) => console.log(name, detail.text, detail.level === 'good'));
  media.addEventListener('track', ({ detail: { track } }) => console.log(track.kind));
  try {
    const { won }: { won: true } = await media.answer();
    console.log(won);
  } catch (error) {
    if (error instanceof ReveilleError && error.code === 'already_answered') console.log(error.whatToDo, error.retryAfter);
  }
});
session.addEventListener('ended', ({ detail }) => console.log(detail.call.reason === 'busy'));
session.addEventListener('connection', ({ detail }) => {
  if (detail.state === 'down') console.log(detail.reason, detail.retryIn);
  if (detail.state === 'gone') console.log(detail.error.whatToDo);
});
// @ts-expect-error: there is no such event.
session.addEventListener('rings', () => {});
session.start();

async function call(): Promise<Call> {
  const media = await Media.dial(session, { group: 'sales' }, { video: true, ringMs: 30_000 });
  await media.attach(document.querySelector('audio')!);
  await media.dtmf('1#');
  // @ts-expect-error: a call has no such state.
  if (media.call.state === 'hung') return media.call;
  return session.invite(['bob', 'carol'], { custom: { room: 7 } });
}

const push = new WebPush(session, { worker: '/worker.js' });
push.addEventListener('change', ({ detail: { state } }) => console.log(state === 'blocked'));
push.switchOn().catch((error: ReveilleError) => console.log(error.whatToDo));

const connection = new Connection({ url: 'wss://calls.example.com', token: () => 't', device: { id: 'd', platform: 'web' } });
connection.addEventListener('event', ({ detail: { method } }) => console.log(method, call));
