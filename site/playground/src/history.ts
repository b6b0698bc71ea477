/** What was seen of runs so far. */

import type { Download, Network, Sample, Step, View } from './wire.ts';

export interface History {
  samples: Sample[];
  downloads: Download[];
}

/** What is seen of a run: how it stands, and what it did before. */
export interface Seen {
  view: View;
  history: History;
}

/** What is seen of a run after a step, forward or back; undefined: nothing was seen before. */
export function after(before: Seen | undefined, { view, samples, downloads }: Step): Seen {
  if (before === undefined) return { view, history: { samples, downloads } };
  const history = view.now < before.view.now ? upTo(before.history, view.now) : before.history;
  history.samples.push(...samples);
  history.downloads.push(...downloads);
  return { view, history };
}

/** The part of a history up to a time. */
export function upTo({ samples, downloads }: History, time: number): History {
  return {
    samples: samples.slice(0, samples.findLastIndex(({ at }) => at <= time) + 1),
    downloads: downloads.filter(([, at, , ttlb]) => at + ttlb <= time),
  };
}

/** What charts show of a view. */
export function sample(view: View, network: Network): Sample {
  const users = view.users.map(({ hops, packaged, delivered }) => ({
    packaged,
    delivered,
    queues: hops.map((hop) => hop[1]),
    windows: hops.map((hop) => hop[3]),
  }));
  const sums = { bulk: 0, web: 0 };
  view.users.forEach((user, number) => {
    sums[network.users[number]!.class] += user.delivered;
  });
  const queued = users.reduce((sum, { queues }) => queues.reduce((a, b) => a + b, sum), 0);
  return { at: view.now, ...sums, queued, users };
}
