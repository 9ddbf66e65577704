// SPDX-License-Identifier: GPL-2.0-only
// From src/ to dist/: one script for page and charts, the page without its data, the licences.

import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { defineConfig, type Plugin } from 'vite';
import { widthsOf } from './build/font.ts';
import { licenses, packagesOf } from './build/licenses.ts';

const root = import.meta.dirname;
const WEIGHTS = { regular: 400, bold: 700 } as const;
const SCRIPTS = ['latin', 'latin-ext'] as const;
const BANNER =
  '/* SPDX-License-Identifier: GPL-2.0-only AND BSD-3-Clause AND ISC. Made from web/src by "npm run build" in web/; licences: LICENSES.txt. */';

function font(script: string, weight: number): Buffer {
  return readFileSync(
    join(root, `node_modules/@fontsource/arimo/files/arimo-${script}-${weight}-normal.woff`),
  );
}

function widths(): string {
  const of = (weight: number) => {
    const all = SCRIPTS.map((s) => widthsOf(font(s, weight)));
    // Later scripts do not replace what the first one has.
    return {
      em: all[0]!.em,
      of: Object.assign({}, ...all.map((f) => f.of).reverse()) as Record<string, number>,
    };
  };
  const used = (all: Record<string, number>) =>
    Object.fromEntries(
      Object.entries(all)
        .filter(([c]) => c <= '\u017f' || (c >= '\u2010' && c <= '\u2212'))
        .sort(),
    );
  const regular = of(WEIGHTS.regular);
  const bold = of(WEIGHTS.bold);
  return JSON.stringify({
    em: regular.em,
    other: Math.round(regular.em * 0.6),
    regular: used(regular.of),
    bold: used(bold.of),
  });
}

const virtualWidths: Plugin = {
  name: 'widths',
  resolveId: (id) => (id === 'virtual:widths' ? '\0widths' : null),
  load: (id) => (id === '\0widths' ? `export default ${widths()}` : null),
};

// What the browser is allowed: this one script, styles, pictures of its own; no network.
function policy(script: string): string {
  const hash = (text: string) => `'sha256-${createHash('sha256').update(text).digest('base64')}'`;
  return `default-src 'none'; script-src ${hash(script)}; style-src 'unsafe-inline'; img-src data: blob:; base-uri 'none'; form-action 'none'`;
}

const outlets: Plugin = {
  name: 'outlets',
  generateBundle(_, bundle) {
    const script = bundle['idlewise.js'];
    if (script?.type !== 'chunk') throw new Error('the bundle has no idlewise.js');
    // An ending tag inside a string would end the script that holds it.
    const code = `${BANNER}\n${script.code.trim()}\n`
      .replace(/<\/(script)/gi, '<\\/$1')
      .replace(/<!--/g, '<\\!--');
    script.code = code;
    const style = readFileSync(join(root, 'src/page/page.css'), 'utf8')
      .replace(/\/\*[^]*?\*\//g, '')
      .replace(/\s+/g, ' ')
      .replace(/ ?([{};:,>]) ?/g, '$1')
      .trim();
    const page = readFileSync(join(root, 'src/page/page.html'), 'utf8')
      .replace('{{policy}}', () => policy(code))
      .replace('{{style}}', () => style);
    const emit = (fileName: string, source: string) => this.emitFile({ type: 'asset', fileName, source });
    emit('page.html', page);
    emit('LICENSES.txt', licenses(packagesOf(Object.keys(script.modules), root), root));
  },
};

export default defineConfig({
  plugins: [virtualWidths, outlets],
  logLevel: 'warn',
  build: {
    target: 'es2022',
    outDir: process.env['IDLEWISE_WEB_OUT'] ?? 'dist',
    emptyOutDir: true,
    lib: { entry: 'src/main.ts', formats: ['iife'], name: 'idlewiseBundle', fileName: () => 'idlewise.js' },
  },
});
