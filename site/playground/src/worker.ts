/** Runs the simulator beside the page. */

import init, { Playground, knobs, scenarios, set } from '../build/pkg/hopflow_playground.js';
import { sample } from './history.ts';
import type { Download, Network, Problem, Reply, Request, Sample, Step, View } from './wire.ts';

/** Samples for charts in a simulated second. */
const SAMPLES = 10;

/** Less than the simulator's nanoseconds. */
const NOTHING = 1e-10;

let playground: Playground | undefined;
let network: Network;
/** Why nothing in the simulator can be used, if that is so. */
let failure: Problem | undefined;

const LOST: Problem = { line: null, message: 'The runs are lost. Run the scenario again.' };

const answer = (reply: Reply): void => postMessage(reply);

const look = (transport: number, recent: number): View =>
  JSON.parse(playground!.view(transport, recent)) as View;

/** Lets a run go on, with samples on the way; back it goes at once. */
function go(transport: number, time: number): Step {
  const began = performance.now();
  const samples: Sample[] = [];
  const downloads: Download[] = [];
  let view = look(transport, 0);
  const from = view.now;
  const forward = time >= from;
  do {
    const before = view.now;
    const next = (Math.floor((before + NOTHING) * SAMPLES) + 1) / SAMPLES;
    playground!.go_to(transport, forward ? Math.min(time, next) : time);
    view = look(transport, 0);
    if (forward && view.now > next - NOTHING) samples.push(sample(view, network));
    if (view.now === before) break;
  } while (view.now < time);
  if (forward && view.now > from) {
    const recent = look(transport, view.now - from).downloads;
    downloads.push(...recent.filter((it) => it[1] + it[3] > from));
  }
  return { transport, view, samples, downloads, took: performance.now() - began };
}

function handle(request: Request): Reply {
  switch (request.kind) {
    case 'load': {
      const made = new Playground(request.text);
      const before = playground;
      playground = made;
      network = JSON.parse(made.network()) as Network;
      before?.free();
      return { kind: 'loaded', network, knobs: JSON.parse(knobs(request.text)) };
    }
    case 'go':
      return { kind: 'went', steps: request.transports.map((it) => go(it, request.time)) };
    case 'set':
      return { kind: 'text', text: set(request.text, request.path, request.value) };
    case 'results':
      return { kind: 'results', hash: playground!.results(request.transport) };
  }
}

/** What the simulator refuses, it says as JSON; anything else is a failure of it, after which nothing in it can be used. */
function problem(error: unknown): Reply {
  const message = String(error);
  if (message.startsWith('{')) return { kind: 'problem', problem: JSON.parse(message) };
  const advice = 'The scenario may need more memory than there is: run one with fewer circuits.';
  failure = { line: null, message: `The simulator failed: ${message}. ${advice}` };
  return { kind: 'failed', problem: failure };
}

onmessage = ({ data }: MessageEvent<Request>) => {
  if (failure !== undefined) return answer({ kind: 'failed', problem: failure });
  const needsRuns = data.kind === 'go' || data.kind === 'results';
  if (needsRuns && playground === undefined) return answer({ kind: 'problem', problem: LOST });
  try {
    answer(handle(data));
  } catch (error) {
    answer(problem(error));
  }
};

try {
  await init({ module_or_path: new URL('hopflow.wasm', import.meta.url) });
  answer({ kind: 'ready', scenarios: JSON.parse(scenarios()) });
} catch (error) {
  failure = { line: null, message: `The simulator cannot be loaded: ${error}. Reload the page to try again.` };
  answer({ kind: 'failed', problem: failure });
}
