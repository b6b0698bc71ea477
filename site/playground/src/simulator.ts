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
    this.since = performance.now();
    this.worker.onmessage = ({ data }: MessageEvent<Reply>) => {
      this.since = performance.now();
      waiting.shift()?.(data);
    };
    this.ready = this.next('ready').then(({ scenarios }) => scenarios);
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
    if (this.waiting.length === 0) this.since = performance.now();
    this.worker.postMessage(request);
    return this.next(kind);
  }

  private next<K extends Reply['kind']>(kind: K): Promise<Answer<K>> {
    return new Promise((resolve, reject) => {
      this.waiting.push((reply) => {
        if (reply.kind === 'problem') reject(new Refused(reply.problem));
        else if (reply.kind === kind) resolve(reply as Answer<K>);
        else reject(new Error(`${reply.kind} is no answer to ${kind}`));
      });
    });
  }
}
