// SPDX-License-Identifier: GPL-2.0-only
//
// The pages in a real browser: node tests/browser.mjs PAGES SHOTS [quick | NAME,NAME]
//
// PAGES is a folder of pages that crates/chart wrote (make browser does it). Checked for each: no error on the console, no
// request, nothing of the data runs, the numbers of every table equal the JSON, no horizontal scrolling of the page on a
// phone, sorting and choosing by keyboard. SHOTS gets pictures, to be looked at; `quick` makes none, and opens each page
// once light on a desk and once dark on a phone.

import { chromium } from 'playwright-core';
import { existsSync, mkdirSync, readdirSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';

const [pages, shots] = process.argv.slice(2).map((p) => resolve(p));
const quick = process.argv[4] === 'quick';
/** A page is waited for so long, ms: a browser that others leave no processor is slow. */
const PATIENCE = 120_000;
const only = quick ? undefined : process.argv[4]?.split(',');
const executable =
  process.env.IDLEWISE_CHROMIUM ??
  ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'].find(existsSync);
/** Pages that are printed as well. */
const PRINTED = ['replay', 'governors-20', 'ab', 'reproduce', 'diff', 'advise'];
const failures = [];
let passed = 0;

function check(page, what, holds, detail = '') {
  if (holds) passed += 1;
  else failures.push(`${page}: ${what}${detail === '' ? '' : `: ${detail}`}`);
}

async function opened(browser, file, options) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, ...options });
  const page = await context.newPage();
  const errors = [];
  const requests = [];
  page.on('console', (m) => {
    if (['error', 'warning'].includes(m.type())) errors.push(m.text());
  });
  page.on('pageerror', (e) => errors.push(String(e)));
  page.on('request', (r) => {
    if (!r.url().startsWith('file:') && !r.url().startsWith('blob:') && !r.url().startsWith('data:'))
      requests.push(r.url());
  });
  page.on('dialog', (d) => {
    errors.push(`a dialog: ${d.message()}`);
    void d.dismiss();
  });
  const begun = Date.now();
  await page.goto(pathToFileURL(file).href, { timeout: PATIENCE });
  await drawn(page);
  return { context, page, errors, requests, ms: Date.now() - begun };
}

const drawn = (page) =>
  page.waitForFunction(() => document.documentElement.dataset.drawn === 'yes', null, { timeout: PATIENCE });

/** Every table of the page against the JSON that the page holds. Returns what differs. */
function compareNumbers() {
  const data = JSON.parse(document.getElementById('data').textContent);
  const wrong = [];
  let compared = 0;
  const plain = (text) => text.replaceAll('\u2212', '-').replace(/[^\d.eE+-]/g, '');
  for (const details of document.querySelectorAll('details.table')) details.open = true;
  return new Promise((done) =>
    setTimeout(() => {
      for (const table of data.tables) {
        if (table.name === 'measures') continue;
        const rows = [
          ...(document.querySelector(`table[data-table="${table.name}"]`)?.querySelectorAll('tbody tr') ??
            []),
        ];
        if (rows.length === 0 && table.rows.length > 0) wrong.push(`${table.name} is not shown`);
        if (rows.length !== Math.min(60, table.rows.length)) wrong.push(`${table.name}: ${rows.length} rows`);
        rows.forEach((tr, i) =>
          table.columns.forEach((column, k) => {
            const want = table.rows[i][k];
            const cell = tr.children[k];
            compared += 1;
            if (typeof want === 'number') {
              if (Number(cell.dataset.value) !== want)
                wrong.push(`${table.name}[${i}].${column.name}: ${cell.dataset.value}, not ${want}`);
              const scale =
                column.unit === 'ns'
                  ? ({ s: 1e9, ms: 1e6, µs: 1e3, ns: 1 }[cell.textContent.split(' ')[1]] ?? 1)
                  : 1;
              const read = Number(plain(cell.textContent.replace(/ (s|ms|µs|ns)$/, ''))) * scale;
              if (Math.abs(read - want) > Math.abs(want) * 0.006 + 1e-9)
                wrong.push(`${table.name}[${i}].${column.name} shows ${cell.textContent} for ${want}`);
            } else if (want === null && cell.textContent !== '?')
              wrong.push(`${table.name}[${i}].${column.name} shows ${cell.textContent} for unknown`);
          }),
        );
      }
      const measures = data.tables.find((t) => t.name === 'measures');
      if (measures) {
        const at = (name) => measures.columns.findIndex((c) => c.name === name);
        const cells = [...document.querySelectorAll('.comparison tbody td[data-measure]')];
        const shown = cells
          .map(
            (c) =>
              `${c.dataset.measure} ${c.dataset.value} ${c.querySelector('small')?.dataset.change ?? ''}`,
          )
          .sort();
        const visible = [...document.querySelectorAll('.comparison tbody tr')].length;
        const pairs = [
          ...new Set(measures.rows.map((r) => JSON.stringify([r[at('recording')], r[at('governor')]]))),
        ].slice(0, visible);
        const names = [...new Set(measures.rows.map((r) => r[at('measure')]))];
        const wanted = pairs
          .flatMap((pair) =>
            names.map(
              (m) =>
                measures.rows.find(
                  (r) =>
                    r[at('measure')] === m &&
                    JSON.stringify([r[at('recording')], r[at('governor')]]) === pair,
                ) ?? m,
            ),
          )
          .map((r) => {
            // A measure that a governor does not have is not known.
            if (typeof r === 'string') return `${r} ? `;
            const value = r[at('value')];
            const change = value === null || r[at('role')] === 'baseline' ? null : r[at('change')];
            return `${r[at('measure')]} ${value === null ? '?' : value} ${change === null ? '' : change}`;
          })
          .sort();
        compared += wanted.length;
        if (JSON.stringify(shown) !== JSON.stringify(wanted))
          wrong.push(
            `measures: ${shown.find((s, i) => s !== wanted[i])}, not ${wanted.find((w, i) => w !== shown[i])}`,
          );
        for (const cell of cells) {
          const text = cell.querySelector('.value')?.textContent ?? cell.textContent;
          const unit = text.split(' ')[1];
          const read = Number(plain(text.split(' ')[0])) * ({ s: 1e9, ms: 1e6, µs: 1e3 }[unit] ?? 1);
          if (
            cell.dataset.value !== '?' &&
            Math.abs(read - Number(cell.dataset.value)) >
              Math.abs(Number(cell.dataset.value)) * 0.006 + 0.0051
          )
            wrong.push(`measures shows ${text} for ${cell.dataset.value}`);
        }
      }
      for (const details of document.querySelectorAll('details.table')) details.open = false;
      done({ wrong: wrong.slice(0, 5), compared });
    }, 50),
  );
}

/** Parses what a CSV button saves. */
async function savedCsv(page, name) {
  const details = page.locator(`details[data-for="${name}"]`);
  if (await details.count())
    await details.first().evaluate((d) => {
      d.open = true;
    });
  const [download] = await Promise.all([
    page.waitForEvent('download'),
    page.locator(`button[data-csv="${name}"]`).first().click(),
  ]);
  const stream = await download.createReadStream();
  let text = '';
  for await (const part of stream) text += part;
  if (await details.count())
    await details.first().evaluate((d) => {
      d.open = false;
    });
  return text;
}

async function keyboard(page, name) {
  const button = page.locator('.comparison thead th.n button').first();
  if (await button.count()) {
    await button.focus();
    await page.keyboard.press('Enter');
    const values = await page.$$eval('.comparison tbody tr', (rows) =>
      rows.map((r) => r.querySelector('td[data-measure]').dataset.value),
    );
    const known = values.filter((v) => v !== '?').map(Number);
    check(
      name,
      'Enter on a head sorts by it',
      known.every((v, i) => i === 0 || known[i - 1] <= v),
      values.join(' '),
    );
    await page.keyboard.press('Enter');
    await page.keyboard.press('Enter');
    const outline = await button.evaluate((b) => getComputedStyle(b).outlineStyle);
    check(name, 'the focus is seen', outline !== 'none', outline);
  }
  const stage = page.locator('.stage.timeline');
  // One period of no length cannot be moved through.
  if ((await stage.count()) && name !== 'odd') {
    const range = () => page.locator('.range').textContent();
    const before = await range();
    await stage.focus();
    await page.keyboard.press('+');
    await page.waitForFunction((old) => document.querySelector('.range').textContent !== old, before);
    await page.keyboard.press('ArrowRight');
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('n');
    await page.waitForTimeout(150);
    check(name, 'n chooses a period', (await page.locator('.panel h3').count()) === 1);
    const why = await page.locator('.panel .why').textContent();
    check(name, 'the choice is explained', why.length > 10, why);
    await page.keyboard.press('0');
    await page.waitForTimeout(150);
    const [shown, of] = (await range()).split(' of ');
    check(name, '0 shows all of the timeline', shown === of, `${shown} of ${of}`);
    // A click on a bar explains it as well.
    await page.keyboard.press('Home');
    for (let i = 0; i < 5; i += 1) await page.keyboard.press('+');
    await page.waitForTimeout(300);
    const clicked = await page.evaluate(() => {
      const bars = [...document.querySelectorAll('.stage.timeline .mark-rect path')]
        .map((p) => p.getBoundingClientRect())
        .filter((b) => b.width > 4 && b.height > 8);
      const bar = bars.at(-1);
      return bar ? { x: bar.left + bar.width / 2, y: bar.top + bar.height / 2 } : null;
    });
    check(name, 'the timeline has bars', clicked !== null);
    if (clicked) {
      await page.mouse.click(clicked.x, clicked.y);
      await page.waitForTimeout(150);
      check(name, 'a click explains a period', (await page.locator('.panel h3').count()) === 1);
    }
  }
}

/** The button gives a picture that stands alone. */
async function savedSvg(page, name) {
  const button = page.locator('figure:not(#timeline) button', { hasText: 'Save as SVG' }).first();
  if (!(await button.count())) return;
  const [download] = await Promise.all([page.waitForEvent('download'), button.click()]);
  let text = '';
  for await (const part of await download.createReadStream()) text += part;
  check(
    name,
    'a chart is saved as SVG with its title',
    text.startsWith('<svg') && text.includes('font-weight="bold"') && text.length > 2000,
    text.slice(0, 80),
  );
}

/** The mouse moves the timeline, the boxes and the list choose what is shown. */
async function choosing(page, name) {
  const stage = page.locator('.stage.timeline');
  const start = () =>
    page.$$eval('.stage.timeline text', (texts) =>
      texts.map((t) => t.textContent).find((t) => t.startsWith('time from')),
    );
  if ((await stage.count()) && name !== 'odd') {
    await stage.focus();
    await page.keyboard.press('Home');
    await page.keyboard.press('+');
    await page.waitForTimeout(200);
    const before = await start();
    const box = await stage.boundingBox();
    await page.mouse.move(box.x + box.width * 0.8, box.y + 60);
    await page.mouse.down();
    await page.mouse.move(box.x + box.width * 0.3, box.y + 60, { steps: 5 });
    await page.mouse.up();
    await page.waitForTimeout(200);
    check(name, 'dragging moves the timeline', (await start()) !== before, before);
    const range = () => page.locator('.range').textContent();
    const wide = await range();
    await page.mouse.wheel(0, -300);
    await page.waitForTimeout(200);
    check(name, 'the wheel zooms the timeline that has the focus', (await range()) !== wide, wide);
  }
  const rows = () => page.locator('.comparison tbody tr').count();
  const boxes = page.locator('.chip input');
  const all = await rows();
  if ((await boxes.count()) > 1 && all > 1) {
    await boxes.last().uncheck();
    await drawn(page);
    check(name, 'a governor that is not chosen is not shown', (await rows()) < all);
    await boxes.last().check();
    await drawn(page);
    check(name, 'a governor that is chosen again is shown', (await rows()) === all);
  }
  const list = page.locator('#recording');
  const compared = await page.evaluate(() => {
    const measures = JSON.parse(document.getElementById('data').textContent).tables.find(
      (t) => t.name === 'measures',
    );
    return new Set(measures?.rows.map((r) => r[0])).size;
  });
  if ((await list.count()) && compared > 1) {
    await list.selectOption({ index: 1 });
    await drawn(page);
    check(name, 'one recording is shown', (await rows()) < all);
    await list.selectOption({ index: 0 });
    await drawn(page);
  }
}

async function one(browser, file) {
  const name = file.replace(/\.html$/, '');
  const path = join(pages, file);
  const views = [
    [1280, 'light'],
    [390, 'dark'],
    [1280, 'dark'],
    [390, 'light'],
  ];
  for (const [width, scheme] of quick ? views.slice(0, 2) : views) {
    const options = {
      viewport: { width, height: width === 390 ? 844 : 900 },
      colorScheme: scheme,
      ...(width === 390 ? { deviceScaleFactor: 2, hasTouch: true, isMobile: true } : {}),
    };
    const { context, page, errors, requests, ms } = await opened(browser, path, options);
    const label = `${name}-${width}-${scheme}`;
    // On a free machine within one or two seconds; the quick form runs beside other tests.
    const limit = quick ? PATIENCE : 5_000;
    check(label, `drawn within ${limit / 1_000} s`, ms < limit, `${ms} ms`);
    check(
      label,
      'no horizontal scrolling',
      await page.evaluate(() => document.documentElement.scrollWidth <= document.documentElement.clientWidth),
      await page.evaluate(() => String(document.documentElement.scrollWidth)),
    );
    if (!quick) await page.screenshot({ path: join(shots, `${label}.png`), fullPage: true });
    if (!quick && width === 1280) await page.screenshot({ path: join(shots, `${label}-first.png`) });
    if (width === 1280 && scheme === 'light') {
      const { wrong, compared } = await page.evaluate(compareNumbers);
      check(
        name,
        `numbers equal the JSON (${compared} cells)`,
        wrong.length === 0 && compared > 0,
        wrong.join('; '),
      );
      const data = await page.evaluate(() => JSON.parse(document.getElementById('data').textContent).tables);
      for (const table of data.filter((t) =>
        ['measures', 'front', 'misses', 'points', 'claims'].includes(t.name),
      )) {
        const text = await savedCsv(page, table.name);
        const lines = text.trimEnd().split('\r\n');
        check(
          name,
          `the CSV of ${table.name} has every row`,
          name === 'hostile' || lines.length === table.rows.length + 1,
          String(lines.length),
        );
        const numeric = table.columns.findIndex((c) => c.type !== 'text');
        if (name !== 'hostile' && numeric >= 0)
          check(
            name,
            `the CSV of ${table.name} has exact numbers`,
            table.rows.every(
              (row, i) =>
                lines[i + 1].split(',')[numeric] === (row[numeric] === null ? '?' : String(row[numeric])),
            ),
          );
      }
      await keyboard(page, name);
      await choosing(page, name);
      await savedSvg(page, name);
      // The switch of colours.
      await page.selectOption('#theme', 'dark');
      await drawn(page);
      check(
        name,
        'the switch makes it dark',
        (await page.evaluate(() => getComputedStyle(document.body).backgroundColor)) === 'rgb(22, 25, 29)',
      );
      const charts = await page.$$eval('.stage', (s) => s.map((e) => e.querySelector('svg') !== null));
      check(name, 'every stage has a drawing', charts.every(Boolean));
      const labelled = await page.$$eval('.stage', (s) =>
        s.every(
          (e) =>
            (e.getAttribute('aria-label') ?? '').length > 10 &&
            e.querySelector('svg')?.getAttribute('aria-hidden') === 'true',
        ),
      );
      check(name, 'every chart has a name for screen readers', labelled);
      await page.selectOption('#theme', 'auto');
      await drawn(page);
    }
    if (!quick && width === 1280 && scheme === 'light' && PRINTED.includes(name))
      await page.pdf({
        path: join(shots, `${name}.pdf`),
        format: 'A4',
        margin: { top: '12mm', bottom: '12mm', left: '12mm', right: '12mm' },
      });
    check(label, 'nothing on the console', errors.length === 0, errors.slice(0, 3).join(' | '));
    check(label, 'no request', requests.length === 0, requests.join(' '));
    check(
      label,
      'no data has run',
      await page.evaluate(
        () =>
          window.pwned === undefined && document.querySelector('#page img, #page script, #page b') === null,
      ),
    );
    await context.close();
  }
}

if (!executable) {
  console.log('skipped: no Chromium (IDLEWISE_CHROMIUM names one)');
  process.exit(0);
}
mkdirSync(shots, { recursive: true });
const browser = await chromium.launch({ executablePath: executable, args: ['--no-sandbox'] });
const files = readdirSync(pages)
  .filter((f) => f.endsWith('.html') && (!only || only.includes(f.replace('.html', ''))))
  .sort();
// Two at a time: each waits for timers, too.
const worker = async () => {
  for (let file = files.shift(); file; file = files.shift()) {
    try {
      await one(browser, file);
    } catch (error) {
      failures.push(`${file}: ${error.stack}`);
    }
  }
};
await Promise.all([worker(), worker()]);
await browser.close();
for (const failure of failures) console.log(`FAILED ${failure}`);
console.log(`${passed} checks passed, ${failures.length} failed; pictures in ${shots}`);
process.exit(failures.length === 0 ? 0 : 1);
