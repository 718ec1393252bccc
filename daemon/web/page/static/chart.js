// Lays charts that answer a mouse over the curves that the page has as pictures. Pictures stay for printing, and where no
// script runs; the numbers are the same.
// @ts-check

/** @typedef {{agent: number, value: (number|null)[], low: (number|null)[], high: (number|null)[]}} Curve */
/** @typedef {{title: string, most?: number, curves: Curve[]}} Measure */
/** @typedef {{x: number[], agents: string[], measures: Measure[]}} Plot */

const colours = 8; // as many as the style sheet has
const steps = [0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400];
const shows = { measure: 0, intervals: true, log: false };

/** @type {{destroy: () => void, setSize: (size: {width: number, height: number}) => void} | undefined} */
let chart;
let drawn = '';

/** @param {string} name */
const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

/** @template {keyof HTMLElementTagNameMap} T @param {T} name @param {Record<string, unknown>} [attributes] @param {(Node|string)[]} inside */
function element(name, attributes, ...inside) {
  const e = Object.assign(document.createElement(name), attributes);
  e.append(...inside);
  return e;
}

/** A time as the pictures write it. @param {number} s */
function time(s) {
  if (s < 10) return `${Math.round(s * 10) / 10}s`;
  s = Math.round(s);
  const parts = [[Math.floor(s / 3600), 'h'], [Math.floor(s / 60) % 60, 'm'], [s % 60, 's']];
  return parts.filter(([n]) => n).map(([n, unit]) => `${n}${unit}`).join('');
}

/** @param {number|null|undefined} v */
const number = (v) => (v == null ? '–' : Math.abs(v) >= 1e6 ? v.toPrecision(3) : v.toFixed(Math.abs(v) > 0 && Math.abs(v) < 0.1 ? 3 : 2));

/** The values at a moment, in words. @param {HTMLElement} at @param {Plot} plot @param {number|null|undefined} i */
function tell(at, plot, i) {
  const { curves } = plot.measures[shows.measure];
  i ??= plot.x.length - 1;
  at.replaceChildren(element('span', {}, `at ${time(plot.x[i])}`), ...curves.map((c) => element('span', {},
    element('i', { className: `key f${c.agent % colours}` }), `${plot.agents[c.agent]} ${number(c.value[i])}`,
    element('span', { className: 'soft' }, shows.intervals && c.low[i] != null ? ` ${number(c.low[i])}–${number(c.high[i])}` : ''))));
}

/** What a reader can choose. @param {Plot} plot @param {() => void} again */
function choices(plot, again) {
  const all = element('p', { className: 'filters' });
  if (plot.measures.length > 1) {
    const list = element('select', { id: 'plot-measure' }, ...plot.measures.map((m) => element('option', {}, m.title)));
    list.selectedIndex = shows.measure;
    list.addEventListener('change', () => { shows.measure = list.selectedIndex; again(); });
    all.append(element('label', {}, 'Show ', list));
  }
  for (const [key, text] of /** @type {['intervals'|'log', string][]} */ ([['intervals', 'intervals'], ['log', 'logarithm of time']])) {
    const box = element('input', { type: 'checkbox', id: `plot-${key}`, checked: shows[key] });
    box.addEventListener('change', () => { shows[key] = box.checked; again(); });
    all.append(element('label', {}, box, ` ${text}`));
  }
  return all;
}

/** The series of uPlot: of each agent what is above, the mean, and what is below. @param {Plot} plot @param {number} from */
function series(plot, from) {
  // @ts-ignore: it is a script of its own
  const paths = window.uPlot.paths.stepped({ align: 1 });
  const data = [plot.x.slice(from)], lines = [{}], bands = [];
  for (const c of plot.measures[shows.measure].curves) {
    const stroke = css(`--c${c.agent % colours}`), n = data.length;
    for (const values of shows.intervals ? [c.high, c.value, c.low] : [c.value]) {
      data.push(/** @type {number[]} */ (values.slice(from)));
      lines.push(values === c.value ? { stroke, width: 2, paths, points: { show: false } } : { width: 0, paths, points: { show: false } });
    }
    if (shows.intervals) bands.push({ series: [n, n + 2], fill: `${stroke}24` });
  }
  return { data, lines, bands };
}

/** @param {HTMLElement} at @param {Plot} plot */
function draw(at, plot) {
  chart?.destroy();
  shows.measure = Math.min(shows.measure, plot.measures.length - 1);
  const again = () => { const on = document.activeElement?.id; draw(at, plot); if (on) document.getElementById(on)?.focus(); };
  const measure = plot.measures[shows.measure];
  const values = element('p', { className: 'values' }), place = element('div');
  at.replaceChildren(element('h3', {}, measure.title), choices(plot, again), place, values);
  at.hidden = false;
  const { data, lines, bands } = series(plot, shows.log ? 1 : 0); // a logarithm of 0 is none
  const axis = { stroke: css('--soft'), grid: { stroke: css('--rule'), width: 1 }, ticks: { show: false } };
  /** @param {unknown} _ @param {number[]} all */
  const times = (_, all) => all.map((s) => (s == null ? '' : time(s)));
  // @ts-ignore: it is a script of its own
  chart = new window.uPlot({
    width: at.clientWidth, height: 320, series: lines, bands, legend: { show: false }, cursor: { points: { show: false }, y: false },
    scales: { x: { time: false, distr: shows.log ? 3 : 1 }, y: measure.most ? { range: [0, measure.most] } : {} },
    axes: [{ ...axis, values: times, ...(shows.log ? {} : { incrs: steps }) }, { ...axis, size: 56 }],
    hooks: { setCursor: [(/** @type {any} */ u) => tell(values, plot, u.cursor.idx == null ? null : u.cursor.idx + (shows.log ? 1 : 0))] },
  }, data, place);
  tell(values, plot, null);
}

/** Draws the numbers that the page has now, if they are others. @param {boolean} [always] */
function look(always) {
  const at = document.getElementById('plot');
  const data = /** @type {HTMLElement|null} */ (document.querySelector('[data-plot]'))?.dataset.plot ?? '';
  if (!at || !data || (data === drawn && !always)) return;
  drawn = data;
  draw(at, JSON.parse(data));
}

look();
document.addEventListener('fresh', () => look());
window.matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => look(true));
window.addEventListener('resize', () => {
  const at = document.getElementById('plot');
  if (at && chart) chart.setSize({ width: at.clientWidth, height: 320 });
});
