/** Live charts of two transports. */

import type { History } from './history.ts';
import { Plots, type Line, type Values } from './plots.ts';
import { median, number, seconds } from './text.ts';
import type { Network, Sample } from './wire.ts';

/** Charts show at least so many seconds. */
const LEAST = 2;

/** Samples over which a rate is taken. */
const WINDOW = 10;

type Series = (history: History, user: number, network: Network) => Values;

interface Chart {
  title: string;
  /** Where users upload. */
  uploading?: string;
  unit: string;
  /** Whether it is about web downloads alone. */
  web?: boolean;
  points?: boolean;
  series: Series;
}

const total = (sample: Sample): number => sample.bulk + sample.web;

const rates = (of: (sample: Sample) => number): Series => ({ samples }) =>
  samples.map((sample, number) => {
    const before = samples[Math.max(0, number - WINDOW)]!;
    const time = sample.at - before.at;
    return [sample.at, time > 0 ? (of(sample) - of(before)) / time / 1e6 : null];
  });

const CHARTS: Chart[] = [
  { title: 'delivered to all users', unit: 'MB/s', series: rates(total) },
  {
    title: 'cells that wait in relays and exits',
    uploading: 'cells that wait in relays and at the sources',
    unit: 'cells',
    series: ({ samples }) => samples.map(({ at, queued }) => [at, queued]),
  },
  {
    title: 'time to the last byte of web downloads',
    uploading: 'time to the last byte of web transfers',
    unit: 's',
    web: true,
    points: true,
    series: ({ downloads }, _, { users }) =>
      downloads
        .filter(([user]) => users[user]!.class === 'web')
        .map(([, at, , ttlb]): [number, number] => [at + ttlb, ttlb])
        .toSorted((a, b) => a[0] - b[0]),
  },
  {
    title: 'chosen circuit: delivered, W(t)',
    unit: 'kB',
    series: ({ samples }, user) => samples.map(({ at, users }) => [at, users[user]!.delivered / 1e3]),
  },
  {
    title: 'chosen circuit: packaged and not delivered, R(t) − W(t)',
    unit: 'kB',
    series: ({ samples }, user) =>
      samples.map(({ at, users }) => {
        const { packaged, delivered } = users[user]!;
        return [at, (packaged - delivered) / 1e3];
      }),
  },
];

export class Charts {
  private readonly charts: Chart[];
  private readonly plots: Plots;

  constructor(
    into: HTMLElement,
    private readonly network: Network,
    labels: string[],
    /** Charts begin at this time. */
    private readonly from = 0,
  ) {
    const browses = network.users.some((user) => user.class === 'web');
    this.charts = CHARTS.filter(({ web }) => browses || web !== true);
    const lines = (points: boolean) =>
      labels.map((label, arm): Line => ({
        label,
        colour: arm === 0 ? 'first' : 'second',
        ...(points ? { points: { size: arm === 0 ? 5 : 7, filled: arm === 0 } } : {}),
        ...(arm === 1 && !points ? { dash: [6, 3] } : {}),
      }));
    const uploads = network.users.some((user) => user.uploads);
    this.plots = new Plots(
      into,
      this.charts.map(({ title, uploading, unit, points }) => ({
        title: uploads ? (uploading ?? title) : title,
        unit,
        lines: lines(points === true),
      })),
    );
  }

  /** Frees what the charts hold. */
  close(): void {
    this.plots.close();
  }

  /** Makes all charts anew, in the size and the colours of the page. */
  build(): void {
    this.plots.build();
  }

  /** Draws histories, and of each the circuit of a user. */
  update(histories: History[], users: number[]): void {
    const until = Math.max(this.from + LEAST, ...histories.map(({ samples }) => samples.at(-1)?.at ?? 0));
    const values = this.charts.map(({ series }) => histories.map((it, arm) => series(it, users[arm]!, this.network)));
    this.plots.update(values, [this.from, until]);
  }

  /** Marks a time in all charts; undefined: none. */
  mark(time: number | undefined): void {
    this.plots.mark(time);
  }
}

/** A run in one line. */
export function summary({ samples, downloads }: History, { users }: Network): string {
  const web = downloads.filter(([user]) => users[user]!.class === 'web');
  const typical = median(web.map(([, , , ttlb]) => ttlb));
  const last = samples.at(-1);
  const parts = [
    last === undefined ? '' : `${number((last.bulk + last.web) / 1e6)} MB delivered`,
    typical === undefined ? '' : `web pages: median ${seconds(typical)} of ${web.length}`,
  ];
  return parts.filter((part) => part !== '').join(' · ');
}
