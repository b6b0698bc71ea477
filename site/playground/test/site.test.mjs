// Drives the built site in Chromium: the front page, the search, a guide with a player, a phone.
import assert from 'node:assert/strict';
import { mkdirSync } from 'node:fs';
import { after, before, test } from 'node:test';
import { chromium } from 'playwright-core';
import { serve } from './serve.mjs';

const PICTURES = 'build/pictures/site';

let server;
let browser;

before(async () => {
  mkdirSync(PICTURES, { recursive: true });
  server = await serve('../pages/build');
  browser = await chromium.launch({
    executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
    args: ['--no-sandbox'],
  });
});

after(async () => {
  await browser?.close();
  server?.stop();
});

/** A page that fails the test if anything goes wrong in it, or anything comes from elsewhere. */
async function open(path, options = {}) {
  const context = await browser.newContext({ viewport: { width: 1400, height: 900 }, ...options });
  const page = await context.newPage();
  const wrong = [];
  page.on('pageerror', (error) => wrong.push(error.message));
  page.on('console', (message) => message.type() === 'error' && wrong.push(message.text()));
  page.on('request', (request) => {
    const url = request.url();
    if (!url.startsWith(server.address) && !/^(data|blob):/.test(url)) wrong.push(`fetches ${url}`);
  });
  await page.goto(server.address + path);
  return { page, wrong, close: () => context.close() };
}

/** Waits until the player on a page shows a time after the beginning. */
const plays = async (page) => {
  const player = page.frameLocator('.player iframe').first();
  await player.locator('body[data-ready]').waitFor({ timeout: 30_000 });
  for (let tries = 0; tries < 300; tries += 1) {
    if (Number(await player.locator('#time').inputValue()) > 0.01) return player;
    await page.waitForTimeout(100);
  }
  return assert.fail('the player stands still');
};

for (const [name, options] of Object.entries({
  light: { colorScheme: 'light' },
  dark: { colorScheme: 'dark' },
  phone: { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true },
})) {
  test(`the front page, ${name}`, async () => {
    const { page, wrong, close } = await open('', options);
    await page.locator('.player').scrollIntoViewIfNeeded();
    const player = await plays(page);
    assert.ok(await player.locator('#knobs').isHidden(), 'what is embedded has no knobs');
    const [end, height] = await player.locator('#controls').evaluate((it) => [it.getBoundingClientRect().bottom, innerHeight]);
    assert.ok(end <= height, `controls end at ${end} of ${height}`);
    const [wide, room] = await page.evaluate(() => [document.documentElement.scrollWidth, innerWidth]);
    assert.ok(wide <= room, `the page is ${wide} wide`);
    await page.waitForTimeout(2000);
    await page.evaluate(() => scrollTo(0, 0));
    await page.screenshot({ path: `${PICTURES}/front-${name}.png`, fullPage: name === 'phone' });
    assert.deepEqual(wrong, []);
    await close();
  });
}

test('the search finds a guide, and a guide plays its story', async () => {
  const { page, wrong, close } = await open('docs/README.html');
  const search = page.locator('.VPLocalSearchBox');
  // The key does nothing until the page's scripts have run.
  for (let tries = 0; tries < 100 && !(await search.isVisible()); tries += 1) {
    await page.keyboard.press('/');
    await page.waitForTimeout(200);
  }
  await page.locator('.VPLocalSearchBox input').fill('feedback gap');
  await page.locator('.VPLocalSearchBox .result[href*="spec/vanilla"]').first().click();
  await page.waitForURL(/docs\/spec\/vanilla/);
  await page.screenshot({ path: `${PICTURES}/guide.png` });
  await page.locator('.player').first().scrollIntoViewIfNeeded();
  await plays(page);
  await page.locator('.player a').first().click();
  await page.waitForURL(/playground\/index.html#story=window/);
  await page.waitForSelector('body[data-ready]');
  assert.deepEqual(wrong, []);
  await close();
});
