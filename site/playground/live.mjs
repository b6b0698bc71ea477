// Puts the page of `hopflow live` together in a folder, ../../front/live/page by default, which is part of
// the program and is committed. With `--check` it only compares: exit status 1 if the folder is old.
import { build } from 'esbuild';
import { readFile, writeFile } from 'node:fs/promises';

const PAGE = '../../front/live/page';
const check = process.argv[2] === '--check';

const common = { bundle: true, format: 'esm', target: 'es2022', write: false, logLevel: 'warning' };
// Ours stays readable; the library is the same until its version changes.
const ours = await build({
  ...common,
  entryPoints: ['src/live.ts'],
  alias: { uplot: './uplot.js' },
  external: ['./uplot.js'],
});
const library = await build({
  ...common,
  stdin: { contents: "export { default } from 'uplot';", resolveDir: '.' },
  minify: true,
  legalComments: 'none',
});
const read = (path) => readFile(path, 'utf8');
const license = (await read('node_modules/uplot/LICENSE')).trim();
const css = [await read('node_modules/uplot/dist/uPlot.min.css'), await read('playground.css'), await read('live.css')];
const files = {
  'index.html': await read('live.html'),
  'live.css': css.join('\n'),
  'live.js': ours.outputFiles[0].text,
  'uplot.js': `/*\n${license}\n*/\n${library.outputFiles[0].text}`,
};
for (const [name, text] of Object.entries(files)) {
  const path = `${PAGE}/${name}`;
  if (!check) {
    await writeFile(path, text);
  } else if ((await read(path).catch(() => '')) !== text) {
    console.error(`front/live/page/${name} is old: run \`make live-page\``);
    process.exitCode = 1;
  }
}
