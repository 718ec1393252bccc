// Leads from a cell of a large matrix to its trial: the cells are a few outlines, so the place is computed.
// @ts-check

const step = 14; // a cell with its gap, in units of the matrix

document.addEventListener('click', (e) => {
  const target = /** @type {Element} */ (e.target);
  const matrix = /** @type {SVGSVGElement | null} */ (target.closest('svg.matrix'));
  if (!matrix || target.closest('a')) return;
  const inverse = matrix.getScreenCTM()?.inverse();
  if (!inverse) return;
  const at = new DOMPoint(e.clientX, e.clientY).matrixTransform(inverse);
  if (at.x < 0 || at.y < 0) return;
  location.assign(`${matrix.dataset.run}/cell?x=${Math.floor(at.x)}&row=${Math.floor(at.y / step)}`);
});
