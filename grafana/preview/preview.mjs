// Draws dashboards on live data, each into a PNG:
//
//   node preview.mjs PROMETHEUS FOLDER [name=value ...] [DASHBOARD ...]
//
// PROMETHEUS is its URL, FOLDER takes the pictures. name=value: minutes (how far back, 30), scrape (its scrape interval in
// seconds, 15), or the value of a variable of the dashboards. DASHBOARD is a name as in ../dashboards; all without any.
// Exits with 1 and a list when a query failed, a panel was empty or something could not be drawn.
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import http from 'node:http';
import path from 'node:path';
import { chromium } from 'playwright-core';
import sharp from 'sharp';

const here = import.meta.dirname, dashboards = path.join(here, '../dashboards');
const [prometheus, folder, ...rest] = process.argv.slice(2);
if (!folder) {
  console.error('usage: node preview.mjs PROMETHEUS FOLDER [name=value ...] [DASHBOARD ...]');
  process.exit(2);
}
fs.mkdirSync(folder, { recursive: true });
const given = Object.fromEntries(rest.filter(word => word.includes('=')).map(word => word.split(/=(.*)/s).slice(0, 2)));
const named = rest.filter(word => !word.includes('='));
const { minutes = '30', ...values } = given;
const wanted = named.length ? named : fs.readdirSync(dashboards).filter(name => name.endsWith('.json')).map(name => name.slice(0, -5));

execFileSync(path.join(here, 'node_modules/.bin/vite'), ['build', '--logLevel', 'error'], { cwd: here, stdio: 'inherit' });

const TYPES = { '.html': 'text/html', '.js': 'text/javascript', '.css': 'text/css', '.json': 'application/json' };

function file(response, name) {
  fs.readFile(name, (error, content) => {
    response.writeHead(error ? 404 : 200, { 'content-type': TYPES[path.extname(name)] ?? 'application/octet-stream' });
    response.end(content);
  });
}

const server = http.createServer((request, response) => {
  const [, where, name] = /^\/(prometheus|dashboard)?\/?(.*)$/.exec(request.url);
  if (where === 'dashboard') return file(response, path.join(dashboards, `${path.basename(name)}.json`));
  if (where === undefined) return file(response, path.join(here, 'dist', name.split('?')[0] || 'index.html'));
  const failed = error => response.writeHead(502).end(String(error));
  http.get(`${prometheus}/${name}`, answer => {
    response.writeHead(answer.statusCode, { 'content-type': 'application/json' });
    answer.pipe(response);
  }).on('error', failed);
});
await new Promise(ready => server.listen(0, '127.0.0.1', ready));

function chromiumPath() {
  const names = ['chromium', 'chromium-browser', 'google-chrome'];
  const places = (process.env.PATH ?? '').split(':').flatMap(folder => names.map(name => path.join(folder, name)));
  return process.env.CHROMIUM ?? places.find(place => fs.existsSync(place));
}

const browser = await chromium.launch({ executablePath: chromiumPath(), args: ['--no-sandbox', '--disable-gpu', '--disable-background-networking'] });
const to = Math.floor(Date.now() / 1000);
for (const name of wanted) {
  const page = await browser.newPage({ viewport: { width: 1600, height: 1000 } });
  const troubles = [];
  page.on('pageerror', error => troubles.push(`page: ${error}`));
  const query = new URLSearchParams({ scrape: '15', ...values, dashboard: name, from: to - 60 * Number(minutes), to });
  await page.goto(`http://127.0.0.1:${server.address().port}/?${query}`);
  await page.waitForFunction(() => globalThis.pending === 0, null, { timeout: 60000 });
  // Tables draw only what is in sight.
  await page.setViewportSize({ width: 1600, height: await page.evaluate(() => document.documentElement.scrollHeight) });
  await page.evaluate(() => new Promise(done => requestAnimationFrame(() => setTimeout(done, 500))));
  troubles.push(...await page.evaluate(() => globalThis.troubles));
  const empty = await page.$$eval('[data-panel]:has([data-empty])', panels => panels.map(panel => panel.dataset.panel));
  troubles.push(...empty.map(panel => `empty: ${panel}`));
  const picture = sharp(await page.screenshot({ fullPage: true })).png({ palette: true, colours: 192, effort: 10 });
  await picture.toFile(path.join(folder, `${name}.png`));
  await page.close();
  if (troubles.length) process.exitCode = 1;
  for (const one of troubles) console.error(`${name}: ${one}`);
}
await browser.close();
server.close();
