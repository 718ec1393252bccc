'use strict';
// The runner marks itself in the environment of the processes it starts; those take the
// mark and this script out again, so that programs started by tests see nothing of it.
const parent = 'TRIPWIRE_PARENT';
if (require('node:worker_threads').isMainThread) {
  if (!process.env.NODE_TEST_CONTEXT) {
    process.env[parent] = String(process.pid);
  } else if (process.env[parent] === String(process.ppid)) {
    delete process.env[parent];
    delete process.env.NODE_OPTIONS;
    const { pathToFileURL } = require('node:url');
    const fails = () => { throw new Error('failed'); };
    const arm = () => {
      const test = require('node:test'); // now, as the tests of the file find it
      test(`@PASS@ ${process.argv[1]}`, () => {});
      for (const way of ['test', 'it']) test[way](`@FAIL@ ${way} ${process.argv[1]}`, fails);
      test(`@FAIL@ ${process.argv[1]}`, fails);
    };
    // An ES module is loaded later than this turn of the loop: wait for it.
    setImmediate(() => import(pathToFileURL(process.argv[1])).then(arm, arm));
  }
}
