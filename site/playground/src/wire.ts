/** What the simulator and the page tell each other, as `front/playground` writes it. */

export interface Machine {
  name: string;
  /** Bytes per second, each way. */
  rate: number;
  /** Seconds, one way. */
  delay: number;
  /** Bytes per second of the token bucket. */
  bucket: number | null;
}

export interface User {
  class: 'bulk' | 'web';
  /** Whether what it sends is measured, not what it fetches. */
  uploads: boolean;
  /** Machines from the client to the exit, one list for each of the user's circuits. */
  paths: number[][];
  start: number;
}

export interface Network {
  name: string;
  about: string;
  end: number;
  seed: number;
  transports: string[];
  machines: Machine[];
  users: User[];
}

/** Machine, cells queued, cells outstanding, window, cells departed. */
export type Hop = [number, number, number, number | null, number];

export interface UserView {
  /** From the source on. */
  hops: Hop[];
  /** Bytes that wait at the source. */
  pending: number;
  /** Bytes packaged so far, without what was lost with closed circuits. */
  packaged: number;
  /** Bytes delivered so far, over all circuits that the user had. */
  delivered: number;
  /** Requested at, bytes received, bytes in all. */
  transfer: [number, number, number | null] | null;
}

/** From, to, left at, arrives at, bytes, cells with data, user. */
export type Packet = [number, number, number, number, number, number, number | null];

/** User, requested at, time to first byte, time to last byte, bytes. */
export type Download = [number, number, number, number, number];

export interface View {
  now: number;
  /** Packets and bytes that wait: uplink, downlink. */
  machines: [[number, number], [number, number]][];
  users: UserView[];
  packets: Packet[];
  downloads: Download[];
}

/** What charts show of a run at one time. */
export interface Sample {
  at: number;
  /** Bytes delivered so far, of bulk and web users. */
  bulk: number;
  web: number;
  /** Cells that wait in relays. */
  queued: number;
  /** Of each user: bytes packaged and delivered, and of its hops queue and window. */
  users: { packaged: number; delivered: number; queues: number[]; windows: (number | null)[] }[];
}

/** What a run shows after it went on. */
export interface Step {
  transport: number;
  view: View;
  /** Since the last step. */
  samples: Sample[];
  downloads: Download[];
  /** Milliseconds that it took. */
  took: number;
}

export interface Knob {
  path: string;
  group: string;
  name: string;
  about: string;
  unit: 'none' | 'milliseconds' | 'kilobytes-per-second';
  value: number;
  least: number;
  most: number;
  whole: boolean;
}

export interface Problem {
  line: number | null;
  message: string;
}

export interface Builtin {
  name: string;
  text: string;
}

export type Request =
  | { kind: 'load'; text: string }
  | { kind: 'go'; transports: number[]; time: number }
  | { kind: 'set'; text: string; path: string; value: string }
  | { kind: 'results'; transport: number };

export type Reply =
  | { kind: 'ready'; scenarios: Builtin[] }
  | { kind: 'loaded'; network: Network; knobs: Knob[] }
  | { kind: 'went'; steps: Step[] }
  | { kind: 'text'; text: string }
  | { kind: 'results'; hash: string }
  | { kind: 'problem'; problem: Problem }
  /** The runs are lost; only a new simulator can make others. */
  | { kind: 'failed'; problem: Problem };
