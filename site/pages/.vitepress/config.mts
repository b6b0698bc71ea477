// The site: the documentation as it stands in the repository, and a front page. `make site` puts the
// playground and the API beside it.
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, posix } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Plugin } from 'vite';
import { defineConfig, type DefaultTheme } from 'vitepress';
import { links } from './links.mts';

const ROOT = join(dirname(fileURLToPath(import.meta.url)), '../../..');
const FRONT = 'site/pages/index.md';
const INDEX = 'docs/README.md';
/** To be copied, not read. */
const TEMPLATE = 'docs/adr/template.md';

const pagesIn = (folder: string, recursive: boolean) =>
  readdirSync(join(ROOT, folder), { recursive, encoding: 'utf8' })
    .filter((name) => name.endsWith('.md'))
    .map((name) => posix.join(folder, name));
const documents = pagesIn('docs', true).filter((path) => path !== TEMPLATE);
const pages = [FRONT, ...pagesIn('.', false), ...pagesIn('scenarios', false), ...documents];

const read = (path: string) => readFileSync(join(ROOT, path), 'utf8');

/** The first heading of a page, without what follows a colon. */
function title(path: string): string {
  const found = /^# ([^:\n]+)/m.exec(read(path));
  if (found === null) throw new Error(`${path}: has no heading`);
  return found[1]!.replaceAll('`', '');
}

/** The index of the documentation as a sidebar: its headings, and the pages in its tables. */
function sidebar(): DefaultTheme.SidebarItem[] {
  const groups: DefaultTheme.SidebarItem[] = [];
  const listed = new Set([INDEX]);
  for (const line of read(INDEX).split('\n')) {
    const heading = /^##? ([^:]+)/.exec(line);
    if (heading) groups.push({ text: heading[1]!, items: [], collapsed: groups.length > 1 });
    const first = /^\| (.*?) \| /.exec(line)?.[1] ?? '';
    for (const [, target] of first.matchAll(/\]\(([^)#]+\.md)\)/g)) {
      const path = posix.join('docs', target!);
      if (listed.has(path)) continue;
      listed.add(path);
      groups.at(-1)!.items!.push({ text: title(path), link: `/${path.replace(/\.md$/, '')}` });
    }
  }
  const lost = documents.filter((path) => !listed.has(path));
  if (lost.length > 0) throw new Error(`${INDEX} does not list ${lost.join(', ')}`);
  return groups;
}

/** Lets pages find packages, which are not in a folder above them. */
const packagesFromHere: Plugin = {
  name: 'packages-from-here',
  resolveId(id, importer) {
    if (!importer?.endsWith('.md') || !id.startsWith('vue')) return undefined;
    return this.resolve(id, fileURLToPath(import.meta.url), { skipSelf: true });
  },
};

export default defineConfig({
  title: 'hopflow',
  description: 'Design, measure and run transports for onion-routing overlays such as Tor.',
  base: process.env['SITE_BASE'] ?? '/',
  head: [['link', { rel: 'icon', href: 'data:,' }]],
  srcDir: ROOT,
  srcExclude: ['!(docs|scenarios|site)/**/*', 'site/!(pages)/**/*', TEMPLATE],
  rewrites: { [FRONT]: 'index.md' },
  outDir: 'build',
  cacheDir: '.vitepress/cache',
  // What `make site` puts beside the pages; it checks all links at the end.
  ignoreDeadLinks: [/^\/(playground|api|atlas)\//],
  markdown: {
    // Places in pages are called as on the usual hosts of repositories, so that links work there and here.
    anchor: { slugify: (heading) => heading.trim().toLowerCase().replace(/[^\p{L}\p{N}\s_-]/gu, '').replace(/\s/g, '-') },
    config: links(ROOT, pages, process.env['SITE_SOURCE']),
  },
  // Pages stand outside of the folder with the packages.
  vite: { plugins: [packagesFromHere] },
  themeConfig: {
    search: { provider: 'local' },
    outline: 'deep',
    nav: [
      { text: 'Playground', link: '/playground/', target: '_self' },
      { text: 'Documentation', link: '/docs/README' },
      ...(process.env['SITE_ATLAS'] ? [{ text: 'Reproductions', link: '/atlas/', target: '_self' }] : []),
      { text: 'API', link: '/api/hopflow_overlay/', target: '_self' },
    ],
    sidebar: sidebar(),
  },
});
