/** Live charts of two transports. */

import uPlot from 'uplot';
import { median, number, seconds } from './text.ts';
import type { Download, Network, Sample } from './wire.ts';

/** What was seen of a run so far. */
export interface History {
  samples: Sample[];
  downloads: Download[];
}

/** Charts show at least so many seconds. */
const LEAST = 2;

/** Samples over which a rate is taken. */
const WINDOW = 10;

type Series = (history: History, user: number, network: Network) => [number, number][];

interface Chart {
  title: string;
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
    return [sample.at, time > 0 ? (of(sample) - of(before)) / time / 1e6 : 0];
  });

const CHARTS: Chart[] = [
  { title: 'delivered to all users', unit: 'MB/s', series: rates(total) },
  {
    title: 'cells that wait in relays and exits',
    unit: 'cells',
    series: ({ samples }) => samples.map(({ at, queued }) => [at, queued]),
  },
  {
    title: 'time to the last byte of web downloads',
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

/** The values of several series at all times of any. */
function align(series: [number, number][][]): uPlot.AlignedData {
  const tables = series.map((points): uPlot.AlignedData => [
    points.map(([at]) => at),
    points.map(([, value]) => value),
  ]);
  return uPlot.join(tables);
}

export class Charts {
  private readonly charts: Chart[];
  private plots: uPlot[] = [];
  /** Charts reach to this time. */
  private until = LEAST;

  constructor(
    private readonly into: HTMLElement,
    private readonly network: Network,
    private readonly labels: string[],
  ) {
    const browses = network.users.some((user) => user.class === 'web');
    this.charts = CHARTS.filter(({ web }) => browses || web !== true);
    this.build();
  }

  /** Frees what the charts hold. */
  close(): void {
    this.plots.forEach((plot) => plot.destroy());
  }

  /** Makes all charts anew, in the size and the colours of the page. */
  build(): void {
    this.plots.forEach((plot) => plot.destroy());
    this.into.replaceChildren();
    const style = getComputedStyle(this.into);
    const colour = (name: string) => style.getPropertyValue(`--${name}`).trim();
    const axis = { stroke: colour('text'), grid: { stroke: colour('line') }, ticks: { stroke: colour('line') } };
    const places = this.charts.map(({ title, unit }) => {
      const place = document.createElement('figure');
      const caption = document.createElement('figcaption');
      caption.textContent = `${title} (${unit})`;
      place.append(caption);
      this.into.append(place);
      return place;
    });
    this.plots = this.charts.map(({ points }, number) => {
      const place = places[number]!;
      const series = this.labels.map((label, arm) => ({
        label,
        stroke: colour(arm === 0 ? 'first' : 'second'),
        width: 2,
        ...(arm === 1 && points !== true ? { dash: [6, 3] } : {}),
        ...(points === true
          ? { paths: () => null, points: { show: true, size: arm === 0 ? 5 : 7, fill: arm === 0 ? colour('first') : 'transparent' } }
          : { points: { show: false } }),
      }));
      const options: uPlot.Options = {
        width: Math.max(240, place.clientWidth - 20),
        height: 150,
        legend: { show: false },
        cursor: { drag: { x: false, y: false } },
        scales: { x: { time: false, range: () => [0, this.until] } },
        axes: [{ ...axis, values: (_, at) => at.map((it) => `${it} s`) }, { ...axis, size: 54 }],
        series: [{}, ...series],
      };
      return new uPlot(options, [[], ...this.labels.map(() => [])] as uPlot.AlignedData, place);
    });
  }

  update(histories: History[], user: number): void {
    this.until = Math.max(LEAST, ...histories.map(({ samples }) => samples.at(-1)?.at ?? 0));
    this.charts.forEach(({ series }, number) => {
      const all = histories.map((history) => series(history, user, this.network));
      this.plots[number]!.setData(align(all));
    });
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
