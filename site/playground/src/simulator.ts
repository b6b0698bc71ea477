/** The simulator in its worker, asked one thing at a time. */

import type { Builtin, Problem, Reply, Request } from './wire.ts';

/** Something that the simulator refused. */
export class Refused extends Error {
  constructor(readonly problem: Problem) {
    super(problem.message);
  }
}

type Answer<K extends Reply['kind']> = Extract<Reply, { kind: K }>;

export class Simulator {
  private worker!: Worker;
  /** When what it does now began. */
  private since = 0;
  private waiting: ((reply: Reply) => void)[] = [];
  /** Why nobody answers, if the worker is not there. */
  private gone: Problem | undefined;
  /** Whether it has failed, and does nothing more until it begins anew. */
  failed = false;

  /** The scenarios that come with the program, once the simulator is there. */
  ready!: Promise<Builtin[]>;

  constructor() {
    this.begin();
  }

  /** Begins anew, and gives up what it was asked before: those questions have no answer. */
  begin(): void {
    this.worker?.terminate();
    this.worker = new Worker(new URL('worker.js', import.meta.url), { type: 'module' });
    const waiting: ((reply: Reply) => void)[] = [];
    this.waiting = waiting;
    this.gone = undefined;
    this.failed = false;
    this.since = performance.now();
    this.worker.onmessage = ({ data }: MessageEvent<Reply>) => {
      this.since = performance.now();
      if (waiting === this.waiting) this.failed ||= data.kind === 'failed';
      waiting.shift()?.(data);
    };
    const fail = (what: string) => {
      const problem = { line: null, message: `The simulator ${what}. Reload the page to try again.` };
      if (waiting === this.waiting) [this.gone, this.failed] = [problem, true];
      for (const hear of waiting.splice(0)) hear({ kind: 'failed', problem });
    };
    this.worker.onerror = ({ message }) => fail(`cannot be loaded${message ? `: ${message}` : ''}`);
    this.worker.onmessageerror = () => fail('gave an answer that cannot be read');
    this.ready = this.next('ready').then(({ scenarios }) => scenarios);
    // Who waits for it hears of a failure.
    this.ready.catch(() => undefined);
  }

  /** Milliseconds since it began with what it does now; 0 if it waits for a question. */
  busyFor = (): number => (this.waiting.length === 0 ? 0 : performance.now() - this.since);

  load = (text: string) => this.ask({ kind: 'load', text }, 'loaded');

  go = (transports: number[], time: number) => this.ask({ kind: 'go', transports, time }, 'went');

  async set(text: string, path: string, value: string): Promise<string> {
    return (await this.ask({ kind: 'set', text, path, value }, 'text')).text;
  }

  async results(transport: number): Promise<string> {
    return (await this.ask({ kind: 'results', transport }, 'results')).hash;
  }

  private ask<K extends Reply['kind']>(request: Request, kind: K): Promise<Answer<K>> {
    if (this.gone !== undefined) return Promise.reject(new Refused(this.gone));
    if (this.waiting.length === 0) this.since = performance.now();
    this.worker.postMessage(request);
    return this.next(kind);
  }

  private next<K extends Reply['kind']>(kind: K): Promise<Answer<K>> {
    return new Promise((resolve, reject) => {
      this.waiting.push((reply) => {
        if (reply.kind === 'problem' || reply.kind === 'failed') reject(new Refused(reply.problem));
        else if (reply.kind === kind) resolve(reply as Answer<K>);
        else reject(new Error(`${reply.kind} is no answer to ${kind}`));
      });
    });
  }
}
