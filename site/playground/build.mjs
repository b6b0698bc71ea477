// Puts the page together in a folder, build/page by default, from which any web server can serve it.
import { build } from 'esbuild';
import { copyFile, mkdir, readFile, writeFile } from 'node:fs/promises';

const out = process.argv[2] ?? 'build/page';
await mkdir(out, { recursive: true });
await build({
  entryPoints: { main: 'src/main.ts', worker: 'src/worker.ts' },
  outdir: out,
  bundle: true,
  minify: true,
  format: 'esm',
  target: 'es2022',
  loader: { '.toml': 'text' },
  legalComments: 'linked',
  logLevel: 'warning',
});
await copyFile('index.html', `${out}/index.html`);
await copyFile('build/pkg/hopflow_playground_bg.wasm', `${out}/hopflow.wasm`);
const chart = await readFile('node_modules/uplot/dist/uPlot.min.css', 'utf8');
await writeFile(`${out}/playground.css`, chart + (await readFile('playground.css', 'utf8')));
