// Where circuits lead, and whose is shown, without a browser.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { build } from 'esbuild';

const { outputFiles } = await build({ entryPoints: ['src/choice.ts'], bundle: true, format: 'esm', write: false });
const { chosenUser, present } = await import(`data:text/javascript,${encodeURIComponent(outputFiles[0].text)}`);

/** A user over paths from a client to an exit, as the network names it, and as a view has its hops. */
const user = (paths, uploads = false) => ({ class: 'web', uploads, paths, start: 0 });
const has = (...machines) => ({ hops: machines.map((machine) => [machine, 0, 0, null, 0]) });

test('a circuit leads where the hops of its user are', () => {
  const network = { users: [user([[9, 1, 2, 3]]), user([[8, 1, 2, 3]]), user([[7, 1, 2, 3]], true)] };
  const view = { users: [has(5, 4, 1), has(), has(7, 1, 2)] };
  assert.deepEqual(present(network, view, 0), [[9, 1, 4, 5]]);
  assert.deepEqual(present(network, view, 1), [[8, 1, 2, 3]], 'without a circuit, as at the start');
  assert.deepEqual(present(network, view, 2), [[7, 1, 2, 3]], 'uploads come from the client');
});

test('of a user with several circuits each one leads to the exit', () => {
  const network = { users: [user([[9, 1, 2, 3], [9, 4, 5, 3]])] };
  const view = { users: [has(3, 2, 1, 3, 5, 4)] };
  assert.deepEqual(present(network, view, 0), network.users[0].paths);
});

test('of a relay that is chosen a circuit over it is shown', () => {
  const network = { users: [user([[9, 1, 2, 3]]), user([[8, 1, 2, 3], [8, 4, 5, 3]]), user([[7, 1, 6, 3]])] };
  const view = { users: [has(3, 2, 1), has(3, 2, 1, 3, 5, 4), has(3, 0, 1)] };
  const over = (machine) => chosenUser(network, view, { machine });
  assert.equal(over(5), 1, 'a further path');
  assert.equal(over(0), 2, 'a circuit that was built later');
  assert.equal(over(6), 2, 'nobody has one there any more');
  assert.equal(chosenUser(network, view, { user: 2 }), 2);
});
