/**
 * Web Push for the browser library: tells the server where to push this browser's calls while no page is open.
 *
 * The pushes arrive at a service worker of yours, which shows a notification for each; `phone/worker.js` is one.
 */

import { Session } from './reveille.js';

/**
 * - `unsupported`: the browser has no Web Push, or the page came neither over https nor from localhost. Safari on an
 *   iPhone has it only for pages on the home screen.
 * - `unavailable`: no session is open yet, or the server sends no Web Push.
 * - `blocked`: the user, or the browser, forbids notifications.
 */
export type WebPushState = 'unsupported' | 'unavailable' | 'blocked' | 'off' | 'on';

/** What `session.open` and `device.update` take. */
export interface WebPushToken {
  provider: 'webpush';
  kind: 'data';
  environment: 'production';
  /** The application server key. */
  topic: string;
  /** The endpoint, with `#p256dh=…&auth=…` behind it. */
  token: string;
}

/** The token of a subscription that was made with the key (87 characters of base64url). */
export function pushToken(subscription: PushSubscription, key: string): WebPushToken;

export interface WebPushOptions {
  /** The service worker's URL. */
  worker: string;
  /** The pages that it serves. By default those in its folder. */
  scope?: string;
  /** Instead of the browser's, for tests. */
  environment?: {
    serviceWorker?: any; Notification?: any; PushManager?: any; localStorage?: any; isSecureContext?: boolean; page?: any;
  };
}

type Listener<Detail> = ((event: CustomEvent<Detail>) => void) | { handleEvent(event: CustomEvent<Detail>): void };

interface WebPushEvents {
  /** `state` may have changed. */
  change: { state: WebPushState };
  /** A renewal has failed: `state` is `off` until the next connection, and for good after `push_unavailable`. */
  problem: { error: any };
}

/**
 * Keeps the push token of a session's device. One that is switched on stays on: each new session registers it again,
 * and each resumed one if it has changed. If the server's key has changed or the subscription is lost, it makes a new
 * subscription. A worker that gets
 * `pushsubscriptionchange` posts `{ reveille: 'subscription' }` to the page, so that an open page does it at once.
 *
 * A browser has one subscription for a worker, so one device at a time is on.
 */
export class WebPush extends EventTarget {
  constructor(session: Session, options: WebPushOptions);
  readonly state: WebPushState;
  readonly isSupported: boolean;
  /** Whether this device was switched on, in this page or in one before. */
  readonly isWanted: boolean;
  /**
   * Asks the user's permission, subscribes, and registers the token. Call it in a click. Rejects with a `ReveilleError`:
   * `push_unsupported`, `push_blocked`, `push_unavailable` (the server sends no Web Push, or none to this browser's push
   * service: then `data.refusal` has its words), `push_failed` (the browser's push service), or one of the session's.
   */
  switchOn(): Promise<void>;
  /** Removes the token from the server and the subscription from the browser. */
  switchOff(): Promise<void>;
  /** Removes the subscription from the browser only: for a session that is gone, or one by a push's token. */
  forget(): Promise<void>;
  /** Removes the listeners. The registration stays. */
  close(): void;
  addEventListener<Type extends keyof WebPushEvents & string>(
    type: Type, listener: Listener<WebPushEvents[Type]> | null, options?: boolean | AddEventListenerOptions): void;
}
