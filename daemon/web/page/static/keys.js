// Keys for who does not use a mouse. They are off where somebody types, and off altogether by a switch.
// @ts-check

const off = 'assayd-keys-off';
const help = /** @type {HTMLDialogElement | null} */ (document.getElementById('help'));
const box = /** @type {HTMLInputElement | null} */ (document.getElementById('keys-off'));
const button = document.getElementById('keys');
const pages = /** @type {Record<string, string>} */ ({ o: '/', r: '/runs', m: '/mining', t: '/tasks', s: '/specs', h: '/machine', p: '/spending', a: '/activity' });

let prefix = false;

function rows() {
  return [...document.querySelectorAll('tr[data-row]')];
}

/** Moves to the next row, or to the one before. @param {number} by */
function move(by) {
  const all = rows();
  if (!all.length) return;
  const at = all.findIndex((row) => row.classList.contains('here'));
  const next = all[Math.min(Math.max(at + by, 0), all.length - 1)];
  all[at]?.classList.remove('here');
  next.classList.add('here');
  next.querySelector('a')?.focus();
  next.scrollIntoView({ block: 'nearest' });
}

/** Follows a link to the page before or behind. @param {string} rel */
function leaf(rel) {
  /** @type {HTMLAnchorElement | null} */ (document.querySelector(`a[rel="${rel}"]`))?.click();
}

/** @param {KeyboardEvent} e */
function pressed(e) {
  const target = /** @type {HTMLElement} */ (e.target);
  if (e.ctrlKey || e.metaKey || e.altKey || target.closest('input, select, textarea, dialog') || localStorage.getItem(off)) return;
  if (prefix) {
    prefix = false;
    if (pages[e.key]) location.assign(pages[e.key]);
    return;
  }
  switch (e.key) {
    case '/': document.getElementById('go')?.focus(); break;
    case 'j': move(1); break;
    case 'k': move(-1); break;
    case '[': leaf('prev'); break;
    case ']': leaf('next'); break;
    case 'g': prefix = true; break;
    case 'y': navigator.clipboard?.writeText(location.href); break;
    case '?': help?.showModal(); break;
    default: return;
  }
  e.preventDefault();
}

document.addEventListener('keydown', pressed);
if (button) {
  button.hidden = false;
  button.addEventListener('click', () => help?.showModal());
}
if (box) {
  box.checked = localStorage.getItem(off) !== null;
  box.addEventListener('change', () => (box.checked ? localStorage.setItem(off, '1') : localStorage.removeItem(off)));
}
