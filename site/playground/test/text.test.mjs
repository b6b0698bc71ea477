// What the page reads and writes in words, without a browser.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { build } from 'esbuild';

const { outputFiles } = await build({ entryPoints: ['src/text.ts'], bundle: true, format: 'esm', write: false });
const { clock, count, median, shown, typed } = await import(`data:text/javascript,${encodeURIComponent(outputFiles[0].text)}`);

const RATE = { path: 'network.access.rate', unit: 'kilobytes-per-second', value: 500 };
const LOSS = { path: 'network.access.loss', unit: 'none', value: 0 };
const COUNT = { path: 'circuits[0].count', unit: 'none', value: 2, whole: true };

test('commas between thousands are read; any other one is left to the simulator, which refuses it', () => {
  assert.equal(typed(RATE, '1,250'), '"1250 kB/s"');
  assert.equal(typed(RATE, '1,250.5 kB/s'), '"1250.5 kB/s"');
  assert.equal(typed(RATE, '1,250 MB/s'), '"1250 MB/s"');
  assert.equal(typed(COUNT, '1,000,000'), '1000000');
  for (const wrong of ['0,5', '1,25', '1,2500', '1,,250', ',5', '12,34,567']) {
    assert.equal(typed(RATE, wrong), JSON.stringify(wrong));
    assert.equal(typed(LOSS, `${wrong} %`), JSON.stringify(`${wrong} %`));
    assert.equal(typed(COUNT, wrong), JSON.stringify(wrong));
  }
  assert.equal(typed(LOSS, '0.5 %'), '0.005');
});

test('of a time every step can be seen, and of numbers of things every digit', () => {
  assert.equal(clock(1234.67, 2), '1,234.67 s');
  assert.equal(clock(18.0005, 4), '18.0005 s');
  assert.equal(clock(0.6, 2), '0.60 s');
  assert.equal(count(12345), '12,345');
  assert.equal(shown(COUNT, 12345), '12,345');
});

test('the median of an even number of values is the mean of the two in the middle', () => {
  assert.equal(median([]), undefined);
  assert.equal(median([3]), 3);
  assert.equal(median([4, 1]), 2.5);
  assert.equal(median([9, 1, 2]), 2);
  assert.equal(median([9, 1, 3, 2]), 2.5);
});
