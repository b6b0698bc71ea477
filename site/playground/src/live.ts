/** The page that `hopflow live` serves: what the server tells, as it comes. */

import type { NodesHead, RunsHead, Show } from './follow.ts';
import { Nodes } from './nodes.ts';
import { Runs } from './runs.ts';
import { onTheme, switchTheme } from './theme.ts';

/** Milliseconds until the page connects again where the browser does not. */
const AGAIN = 1000;

const by = (id: string) => document.getElementById(id)!;

let show: Show | undefined;

function begin(next: Show): void {
  show?.close();
  show = next;
  document.body.dataset['ready'] = 'true';
}

function resize(): void {
  show?.resize();
}

function listen(): void {
  const source = new EventSource('events');
  const on = (kind: string, hear: (data: unknown) => void) =>
    source.addEventListener(kind, ({ data }) => hear(JSON.parse(data)));
  // Each connection tells everything from the beginning.
  on('network', (head) => begin(new Runs(head as RunsHead)));
  on('nodes', (head) => begin(new Nodes(head as NodesHead)));
  for (const kind of ['frame', 'moment', 'sample', 'done']) on(kind, (data) => show?.take(kind, data));
  source.addEventListener('open', () => (document.body.dataset['connected'] = 'true'));
  source.addEventListener('error', () => {
    document.body.dataset['connected'] = 'false';
    by('status').textContent = 'hopflow live does not answer, or has too many connections; what came so far stays';
    // After an answer that is no stream, such as that of a server with too many connections, the browser does not try again.
    if (source.readyState === EventSource.CLOSED) setTimeout(listen, AGAIN);
  });
}

const frame = (now: number): void => {
  show?.frame(now);
  requestAnimationFrame(frame);
};

by('theme').addEventListener('click', () => {
  switchTheme();
  resize();
});
onTheme(resize);
window.addEventListener('resize', resize);
requestAnimationFrame(frame);
listen();
