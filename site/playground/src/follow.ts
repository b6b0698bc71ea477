/** What the server of `hopflow live` tells, as `front/live` writes it. */

import type { Network, View } from './wire.ts';

/** Runs of transports on one network. */
export interface RunsHead {
  kind: 'simulation' | 'results';
  network: Network;
  /** Simulated seconds in a second; null: as fast as it computes, or finished. */
  pace: number | null;
  /** Of results: whether queues and windows were recorded. */
  hops?: boolean;
  /** Of results: what is not known of them, and why. */
  note?: string | null;
}

/** A moment of runs, one view for each transport. */
export interface Moment {
  at: number;
  views: View[];
}

/** Relays and clients whose metrics are shown. */
export interface NodesHead {
  kind: 'nodes';
  nodes: { name: string; address: string }[];
}

/** What a node says, or why it says nothing. */
export type Look =
  | { about: Record<string, string>; values: Record<string, number>; problem?: undefined }
  | { problem: string };

/** What all nodes say at a time, in seconds since the server began. */
export interface Looks {
  at: number;
  nodes: Look[];
}

/** What the page shows. */
export interface Show {
  take(kind: string, data: unknown): void;
  /** Draws what has changed since the last frame. */
  frame(now: number): void;
  /** Takes over size and colours of the page. */
  resize(): void;
  close(): void;
}
