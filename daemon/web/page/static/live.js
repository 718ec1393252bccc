// Keeps the parts of a page fresh: an event says where to look again, and what is shown there is fetched once more.
// @ts-check

/** @typedef {{of: string[], all?: boolean}} Look */

const pause = 1000; // between two fetches of a part, in milliseconds
const slow = 10000; // the same of a part that costs the daemon more

const policy = window.trustedTypes?.createPolicy('assayd', { createHTML: (/** @type {string} */ html) => html });
const connection = document.getElementById('connection');

/** Parts and when each was fetched last. @type {Map<HTMLElement, {last: number, timer: number, tag: string}>} */
const parts = new Map();
for (const part of document.querySelectorAll('[data-live]')) {
  parts.set(/** @type {HTMLElement} */ (part), { last: Date.now(), timer: 0, tag: '' });
}

/** Fetches a part once more and morphs it, so that focus and open details stay. @param {HTMLElement} part */
async function refresh(part) {
  const state = parts.get(part);
  if (!state) return;
  state.timer = 0;
  state.last = Date.now();
  const at = new URL(location.href);
  at.searchParams.set('part', part.id);
  at.hash = '';
  try {
    const answer = await fetch(at, { headers: state.tag ? { 'If-None-Match': state.tag } : {}, redirect: 'manual' });
    if (answer.type === 'opaqueredirect' || answer.status === 401) {
      location.reload(); // the session is over
      return;
    }
    if (answer.status === 304) {
      known();
      return;
    }
    if (!answer.ok) throw new Error(String(answer.status));
    state.tag = answer.headers.get('ETag') ?? '';
    const text = await answer.text();
    const html = new DOMParser().parseFromString(/** @type {any} */ (policy ? policy.createHTML(text) : text), 'text/html');
    // @ts-ignore: it is a script of its own
    window.Idiomorph.morph(part, [...html.body.childNodes], { morphStyle: 'innerHTML', callbacks: { beforeAttributeUpdated: keep, beforeNodeMorphed: others } });
    part.dispatchEvent(new Event('fresh', { bubbles: true }));
    known();
    unfinished(part);
  } catch (e) {
    lost();
    look(part);
  }
}

/** Has a part fetched again that lacks what the daemon is making. @param {HTMLElement} part */
function unfinished(part) {
  const state = parts.get(part);
  if (state && !state.timer && part.querySelector('[aria-busy="true"]')) state.timer = window.setTimeout(() => refresh(part), pause);
}

/** Keeps details open or closed as the reader left them. @param {string} name @param {Element} node */
function keep(name, node) {
  return !(name === 'open' && node.tagName === 'DETAILS');
}

/** Leaves alone what a script has drawn. @param {Node} node */
function others(node) {
  return !(node instanceof HTMLElement && 'own' in node.dataset);
}

/** Has a part fetched soon. @param {HTMLElement} part */
function look(part) {
  const state = parts.get(part);
  if (!state || state.timer) return;
  const wait = part.dataset.live === 'slow' ? slow : pause;
  state.timer = window.setTimeout(() => refresh(part), Math.max(0, state.last + wait - Date.now()));
}

function known() {
  if (!connection) return;
  const now = new Date();
  const time = document.createElement('time');
  time.dateTime = now.toISOString();
  time.textContent = now.toLocaleTimeString();
  connection.replaceChildren('live, as of ', time);
  connection.classList.remove('lost');
}

function lost() {
  if (!connection || connection.classList.contains('lost')) return;
  connection.classList.add('lost');
  connection.textContent = (connection.textContent ?? '').replace('live, ', '') + ': the daemon does not answer, trying again';
}

/** @type {EventSource | undefined} */
let events;

function follow() {
  const at = document.body.dataset.events;
  if (!at || events) return;
  events = new EventSource(at);
  const all = () => parts.forEach((_, part) => look(part));
  events.addEventListener('hello', () => { known(); all(); });
  events.addEventListener('look', all);
  events.addEventListener('reset', all);
  events.onerror = lost; // it connects again by itself
}

// Browsers allow six connections to a host: a page that nobody sees needs none.
document.addEventListener('visibilitychange', () => {
  if (document.hidden) {
    events?.close();
    events = undefined;
  } else {
    follow();
  }
});
parts.forEach((_, part) => unfinished(part));
follow();
