// SPDX-License-Identifier: GPL-2.0-only
// The licences of everything that is in the bundle, and of the font.

import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';

/** The packages that these modules come from. */
export function packagesOf(modules: Iterable<string>, root: string): string[] {
  const out = new Set<string>();
  for (const id of modules) {
    const found = /node_modules\/((?:@[^/]+\/)?[^/]+)\/(?!.*node_modules\/)/.exec(id);
    if (found?.[1] && existsSync(join(root, 'node_modules', found[1]))) out.add(found[1]);
  }
  return [...out].sort();
}

/** Their names, versions and licences, the same text once. */
export function licenses(packages: string[], root: string): string {
  const byText = new Map<string, string[]>();
  for (const name of packages) {
    const folder = join(root, 'node_modules', name);
    const about = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as {
      version: string;
      license: string;
    };
    const file = readdirSync(folder).find((f) => /^(licen[cs]e|copying)/i.test(f));
    const text = file
      ? readFileSync(join(folder, file), 'utf8')
          .trim()
          .replace(/\r/g, '')
          .replace(/[ \t]+$/gm, '')
      : `License: ${about.license}`;
    byText.set(text, [...(byText.get(text) ?? []), `${name} ${about.version} (${about.license})`]);
  }
  return [...byText]
    .map(([text, names]) => `${names.join('\n')}\n\n${text}\n`)
    .join(`\n${'-'.repeat(80)}\n\n`);
}
