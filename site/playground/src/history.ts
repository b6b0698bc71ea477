/** What was seen of runs so far. */

import type { Download, Network, Sample, View } from './wire.ts';

export interface History {
  samples: Sample[];
  downloads: Download[];
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
