// Drives the page that `hopflow live` serves in Chromium: a simulation, results, and relays.
import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { chromium } from 'playwright-core';

const PICTURES = 'build/pictures/live';
const HOPFLOW = process.env.HOPFLOW ?? 'hopflow';

const SCENARIO = `
name = "tiny"
about = "A slow relay."
duration = "8 s"
seeds = [3]
[transports.vanilla]
[transports.backtap]
[network]
access = { rate = "10 MB/s", delay = "10 ms" }
[[network.relays]]
name = "relay"
count = 3
bucket = { rate = "500 kB/s" }
[[circuits]]
count = 2
path = ["relay", "relay", "relay"]
workload = { class = "bulk", response = "endless" }
[[circuits]]
count = 3
path = ["relay", "relay", "relay"]
workload = "web"
[record]
circuits = "100 ms"
hops = "200 ms"
`;

let browser;
let folder;

before(async () => {
  mkdirSync(PICTURES, { recursive: true });
  folder = mkdtempSync(join(tmpdir(), 'hopflow-live-'));
  writeFileSync(join(folder, 'tiny.toml'), SCENARIO);
  browser = await chromium.launch({
    executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
    args: ['--no-sandbox'],
  });
});

after(async () => {
  await browser?.close();
  rmSync(folder, { recursive: true });
});

/** `hopflow live` with these arguments, until it is ended, at the latest with the test. */
const live = (t, ...args) => serve(t, 0, ...args);

async function serve(t, port, ...args) {
  const program = spawn(HOPFLOW, ['live', ...args, '--listen', `127.0.0.1:${port}`], { cwd: folder });
  // Otherwise it would outlive a test that fails, and the tests would not end.
  t.after(() => program.kill('SIGKILL'));
  let told = '';
  const address = await new Promise((found, failed) => {
    const hear = (text) => {
      told += text;
      const address = /http:\S+/.exec(told);
      if (address !== null) found(address[0]);
    };
    program.stdout.on('data', hear);
    program.stderr.on('data', hear);
    program.on('exit', () => failed(new Error(told)));
  });
  const gone = new Promise((resolve) => program.on('exit', resolve));
  const end = async () => {
    program.kill('SIGINT');
    assert.equal(await gone, 0, told);
  };
  return { address, end };
}

/** A page that fails the test if anything goes wrong in it, or anything comes from elsewhere. */
async function open(address, options = {}) {
  const context = await browser.newContext({ viewport: { width: 1400, height: 1000 }, ...options });
  const page = await context.newPage();
  const wrong = [];
  page.on('pageerror', (error) => wrong.push(error.message));
  page.on('console', (message) => message.type() === 'error' && wrong.push(message.text()));
  page.on('request', (request) => {
    const url = request.url();
    if (!url.startsWith(address) && !/^(data|blob):/.test(url)) wrong.push(`fetches ${url}`);
  });
  await page.goto(address);
  await page.waitForSelector('body[data-ready]', { timeout: 30_000 });
  await page.waitForSelector('figure canvas');
  return { page, wrong, close: () => context.close() };
}

const PHONE = { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true };

const time = (page) => page.locator('#time').inputValue().then(Number);
const later = (page, then) => page.waitForFunction((at) => Number(document.querySelector('#time').value) > at, then);

/** Pixels of a chart that have the colour of the first transport or node. */
const drawn = (page, chart) =>
  page.evaluate((number) => {
    const canvas = document.querySelectorAll('figure canvas')[number];
    const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
    const colour = getComputedStyle(canvas).getPropertyValue('--first').trim();
    const [r, g, b] = [1, 3, 5].map((at) => parseInt(colour.slice(at, at + 2), 16));
    let count = 0;
    for (let at = 0; at < data.length; at += 4) {
      if (Math.abs(data[at] - r) + Math.abs(data[at + 1] - g) + Math.abs(data[at + 2] - b) < 30) count += 1;
    }
    return count;
  }, chart);

async function draws(page, chart) {
  for (let tries = 0; (await drawn(page, chart)) < 20; tries += 1) {
    assert.ok(tries < 100, `chart ${chart} shows a line`);
    await page.waitForTimeout(100);
  }
}

/** Screenshots in both themes and at the width of a phone. */
async function picture(address, name) {
  for (const [kind, options] of Object.entries({ light: {}, dark: { colorScheme: 'dark' }, phone: PHONE })) {
    const { page, wrong, close } = await open(address, options);
    await draws(page, 0);
    const [wide, room] = await page.evaluate(() => [document.documentElement.scrollWidth, innerWidth]);
    assert.ok(wide <= room, `the page is ${wide} wide`);
    await page.screenshot({ path: `${PICTURES}/${name}-${kind}.png`, fullPage: true });
    assert.deepEqual(wrong, []);
    await close();
  }
}

test('a simulation is followed, paused, looked back at, and followed again', async (t) => {
  const { address, end } = await live(t, 'tiny.toml', '--speed', '0.5');
  const { page, wrong, close } = await open(address);
  assert.match(await page.locator('#status').innerText(), /in progress, 0\.5× real time/);
  assert.equal(await page.locator('.arm').count(), 2);
  await later(page, 0.1);
  await draws(page, 0);
  await page.click('#play');
  const paused = await time(page);
  await page.waitForTimeout(500);
  assert.equal(await time(page), paused, 'what is shown stands still');
  await page.keyboard.press('Tab');
  await page.locator('#time').fill('0.02');
  const strip = await page.locator('.strip').first().innerText();
  assert.match(strip, /wait/);
  assert.ok(Math.abs((await time(page)) - 0.02) < 0.01);
  await page.click('#play');
  await later(page, 0.03);
  await page.click('#latest');
  await later(page, paused);
  assert.equal(await page.locator('#latest').getAttribute('aria-pressed'), 'true');
  await page.locator('.arm canvas').first().click({ position: { x: 44, y: 40 } });
  await picture(address, 'simulation');
  await page.waitForFunction(() => document.querySelector('#status').textContent === 'simulation, finished', null, { timeout: 60_000 });
  assert.deepEqual(wrong, []);
  await close();
  await end();
});

test('results are played and scrubbed', async (t) => {
  execFileSync(HOPFLOW, ['run', 'tiny.toml', '--out', 'results'], { cwd: folder, stdio: 'ignore' });
  const { address, end } = await live(t, 'results');
  const { page, wrong, close } = await open(address);
  assert.equal(await page.locator('#status').innerText(), 'finished run');
  await later(page, 0);
  await page.click('#play');
  await draws(page, 1);
  const at = async (place) => {
    await page.locator('#time').fill(String(place));
    await page.waitForFunction((there) => Math.abs(Number(document.querySelector('#time').value) - there) < 0.01, place);
    await page.waitForTimeout(100);
    return page.locator('.arm small').first().innerText();
  };
  const megabytes = (text) => Number(/^([\d.]+) MB/.exec(text)[1]);
  const [early, late] = [await at(0.3), await at(0.9)];
  assert.ok(megabytes(early) < megabytes(late), `${early} before ${late}`);
  assert.match(await page.locator('.strip').first().innerText(), /of window/);
  // A button that has the focus leaves these keys to the page.
  await page.locator('#play').focus();
  await page.keyboard.press('Home');
  await page.waitForFunction(() => Number(document.querySelector('#time').value) === 0);
  await page.keyboard.press('ArrowRight');
  await later(page, 0);
  await picture(address, 'results');
  assert.deepEqual(wrong, []);
  await close();
  await end();
});

test('relays are shown by their metrics, and one that does not answer is named', async (t) => {
  let sent = 0;
  const relay = createServer((_, response) => {
    sent += 1000;
    response.end(
      'hopflow_build_info{role="relay",transport="backtap"} 1\n' +
        `hopflow_cells_sent_total ${sent}\nhopflow_queued_cells ${sent / 100}\nhopflow_circuits 3\n` +
        'hopflow_limit{of="circuits"} 60000\nhopflow_windows 2\nhopflow_window_cells 80\nhopflow_outstanding_cells 30\n' +
        'hopflow_transport_round_trip_seconds{statistic="mean"} 0.08\n# EOF\n',
    );
  });
  t.after(() => relay.close());
  await new Promise((listening) => relay.listen(0, '127.0.0.1', listening));
  // Nobody is given this port, so nobody answers there.
  const { address, end } = await live(t, '--metrics', `guard=127.0.0.1:${relay.address().port},exit=127.0.0.1:1`);
  const { page, wrong, close } = await open(address);
  await page.waitForFunction(() => document.querySelector('#status').textContent.includes('1 of 2 answer'));
  assert.match(await page.locator('.node').nth(0).innerText(), /guard\s+relay · backtap[^]*3 of 60,000/);
  assert.match(await page.locator('.node').nth(1).innerText(), /exit\s+nobody serves metrics there/);
  const titles = await page.locator('figcaption').allInnerTexts();
  assert.ok(titles.includes('transport: round trip, mean (ms)'), titles.join('; '));
  await draws(page, 0);
  await draws(page, 1);
  const before = await page.locator('.node').nth(0).innerText();
  await page.click('#play');
  await page.waitForTimeout(1500);
  assert.equal(await page.locator('.node').nth(0).innerText(), before, 'what is shown stands still');
  await page.click('#latest');
  await page.waitForFunction((then) => document.querySelector('.node').innerText !== then, before);
  await picture(address, 'relays');
  assert.deepEqual(wrong, []);
  await close();
  await end();
});

test('whatever a relay refuses is in the chart', async (t) => {
  for (const name of ['links_refused', 'refused_at_rest', 'setup_dropped']) {
    const relay = createServer((_, response) => response.end(`hopflow_links 3\nhopflow_${name}_total 7\n# EOF\n`));
    t.after(() => relay.close());
    await new Promise((listening) => relay.listen(0, '127.0.0.1', listening));
    const { address, end } = await live(t, '--metrics', `127.0.0.1:${relay.address().port}`);
    const { page, close } = await open(address);
    await page.waitForSelector('figcaption');
    const titles = await page.locator('figcaption').allInnerTexts();
    assert.ok(titles.some((title) => title.startsWith('refused')), `${name}: ${titles.join('; ')}`);
    await close();
    await end();
  }
});

test('a simulation goes on to its end when no packet is under way', async (t) => {
  const text = SCENARIO.replace(/\[\[circuits\]\][^]*/, '').replace('duration = "8 s"', 'duration = "6 s"');
  writeFileSync(
    join(folder, 'short.toml'),
    `${text}[[circuits]]\npath = ["relay", "relay", "relay"]\nworkload = { class = "web", response = "100 kB", think = ["100 s", "200 s"] }\n`,
  );
  const { address, end } = await live(t, 'short.toml', '--speed', '3');
  const { page, wrong, close } = await open(address);
  await page.waitForFunction(() => document.querySelector('#status').textContent === 'simulation, finished', null, { timeout: 60_000 });
  await page.waitForFunction(() => document.querySelector('#clock').textContent === '6.00 s');
  assert.ok((await time(page)) > 0.99, 'the slider is at its end');
  assert.match(await page.locator('.strip').first().innerText(), /is reading/);
  await page.locator('#time').fill('0.9');
  await page.waitForFunction(() => document.querySelector('#clock').textContent === '5.40 s');
  assert.deepEqual(wrong, []);
  await close();
  await end();
});

test('nodes with one colour have other dashes, and a chart names the line under the pointer', async (t) => {
  let sent = 0;
  const relay = createServer((_, response) => response.end(`hopflow_cells_sent_total ${(sent += 1000)}\nhopflow_circuits 3\n# EOF\n`));
  t.after(() => relay.close());
  await new Promise((listening) => relay.listen(0, '127.0.0.1', listening));
  const { port } = relay.address();
  const names = ['one', 'two', 'three', 'four', 'five', 'six'];
  const { address, end } = await live(t, '--metrics', names.map((name) => `${name}=127.0.0.1:${port}`).join(','));
  const { page, wrong, close } = await open(address);
  const samples = await page.locator('.node .sample line').evaluateAll((all) => all.map((it) => `${it.style.stroke} ${it.getAttribute('stroke-dasharray')}`));
  assert.equal(new Set(samples).size, names.length, samples.join('; '));
  await draws(page, 0);
  const figure = page.locator('figure').first();
  assert.match(await figure.getAttribute('aria-label'), /cells sent/);
  const { x, y, width, height } = await figure.locator('.u-over').boundingBox();
  for (let down = 0; (await figure.locator('.near').count()) === 0; down += 8) {
    assert.ok(down < height, 'a line is named');
    await page.mouse.move(x + width / 4, y + down);
  }
  assert.ok(names.includes(await figure.locator('.near').innerText()));
  await page.screenshot({ path: `${PICTURES}/named.png` });
  assert.deepEqual(wrong, []);
  await close();
  await end();
});

test('a server that is gone is told, and found again', async (t) => {
  const first = await live(t, 'tiny.toml', '--speed', 'max');
  const { page, close } = await open(first.address);
  await page.waitForFunction(() => document.querySelector('#status').textContent === 'simulation, finished', null, { timeout: 60_000 });
  await first.end();
  await page.waitForFunction(() => document.querySelector('#status').textContent.includes('does not answer'));
  assert.equal(await page.locator('.arm').count(), 2, 'what came so far stays');
  const second = await serve(t, new URL(first.address).port, 'tiny.toml');
  await page.waitForFunction(() => document.querySelector('#status').textContent.includes('in progress'));
  await later(page, 0.05);
  await close();
  await second.end();
});

test('after an answer that is no stream the page connects again', async (t) => {
  const { address, end } = await live(t, 'tiny.toml');
  const context = await browser.newContext();
  const page = await context.newPage();
  let asked = 0;
  await page.route('**/events', (route) => {
    asked += 1;
    return asked === 1 ? route.fulfill({ status: 503, body: 'full' }) : route.continue();
  });
  await page.goto(address);
  await page.waitForFunction(() => document.querySelector('#status').textContent.includes('too many connections'));
  await page.waitForSelector('body[data-ready][data-connected=true]');
  assert.match(await page.locator('#status').innerText(), /in progress/);
  await context.close();
  await end();
});
