'use strict';
const suite = describe('@SUITE@', () => {
  it('@PASS@', () => {});
  it('@FAIL@', () => { throw new Error('failed'); });
});
// Where some test is marked as the only one to run, these two run all the same.
const root = suite.parent;
if (root && root.filterOnly) {
  const filter = root.filterOnly;
  suite.filterOnly = () => true;
  root.filterOnly = function () {
    const kept = filter.call(this);
    if (!this.suites.includes(suite)) this.suites.push(suite);
    return kept;
  };
}
