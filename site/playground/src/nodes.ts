/** Real relays and clients, by their metrics. */

import type { Look, Looks, NodesHead, Show } from './follow.ts';
import { lineSample, Plots, type Line, type Values } from './plots.ts';
import { bar, element, queueBar } from './strip.ts';
import { count, number, rate } from './text.ts';
import { Timeline } from './timeline.ts';

/** As many looks as the server keeps. */
const MOST = 600;

/** Bytes of a cell. */
const CELL = 512;

/** Looks over which a rate is taken. */
const WINDOW = 5;

/** Charts show at least so many seconds. */
const LEAST = 10;

const COLOURS = ['first', 'second', 'web', 'bulk'];
const DASHES = [undefined, [6, 3], [2, 3], [10, 3, 2, 3], [14, 6], [2, 7], [8, 2, 2, 2, 2, 2], [14, 3, 5, 3]];

type Numbers = Record<string, number>;

interface Chart {
  title: string;
  unit: string;
  /** Of what a node says now, and said a while before. */
  value(now: Numbers, before: Numbers, passed: number): number | null;
}

const present = (name: string, scale = 1) => (now: Numbers): number | null => {
  const value = now[name];
  return value === undefined ? null : value / scale;
};

/** How fast counters grow together; one that began anew counts from zero. */
const growth = (names: string[], scale = 1) => (now: Numbers, before: Numbers, passed: number): number | null => {
  if (passed <= 0 || names.every((name) => now[name] === undefined)) return null;
  const grown = names.map((name) => {
    const [after, earlier] = [now[name] ?? 0, before[name] ?? 0];
    return after < earlier ? after : after - earlier;
  });
  return grown.reduce((a, b) => a + b, 0) / passed / scale;
};

const CHARTS: Chart[] = [
  { title: 'cells sent, 512 bytes each', unit: 'MB/s', value: growth(['cells_sent_total'], 1e6 / CELL) },
  { title: 'cells that wait', unit: 'cells', value: present('queued_cells') },
  {
    title: 'window, mean over directions of circuits',
    unit: 'cells',
    value: ({ windows, window_cells: cells }) => (windows !== undefined && windows > 0 && cells !== undefined ? cells / windows : null),
  },
  { title: 'cells under way', unit: 'cells', value: present('outstanding_cells') },
  { title: 'circuits', unit: '', value: present('circuits') },
  { title: 'streams that begin or end here', unit: '', value: present('streams') },
  { title: 'links', unit: '', value: present('links') },
  { title: 'memory of links, circuits and waiting data', unit: 'MB', value: present('memory_held_bytes', 1e6) },
  {
    title: 'cells sent again or dropped',
    unit: 'per s',
    value: growth(['cells_resent_total', 'cells_dropped_total']),
  },
  {
    title: 'refused, closed for others, or failed',
    unit: 'per s',
    value: growth([
      'links_refused_total', 'links_evicted_total', 'circuits_refused_total', 'circuits_evicted_total',
      'connections_refused_total', 'connections_evicted_total', 'handshakes_failed_total', 'out_of_memory_total',
      'refused_at_rest_total', 'setup_dropped_total',
    ]),
  },
];

const UNITS: Record<string, [string, number]> = {
  _seconds: ['ms', 1e-3],
  _bytes_per_second: ['MB/s', 1e6],
  _cells: ['cells', 1],
};

/** The chart of something that the transport's layers measure. */
function transportChart(name: string): Chart {
  const [suffix, [unit, scale]] = Object.entries(UNITS).find(([end]) => name.endsWith(end)) ?? ['', ['', 1]];
  const title = name.slice('transport_'.length, name.length - suffix.length).replaceAll('_', ' ');
  return { title: `transport: ${title}, mean`, unit, value: present(`${name}{mean}`, scale) };
}

const values = (look: Look | undefined): Numbers | undefined =>
  look === undefined || look.problem !== undefined ? undefined : look.values;

export class Nodes implements Show {
  private readonly timeline: Timeline;
  private looks: Looks[] = [];
  private readonly cards: { box: HTMLElement; note: HTMLElement; strip: HTMLElement }[];
  private charts: Chart[] = [];
  /** What transports measure, by the names of their metrics. */
  private readonly measured = new Map<string, Chart>();
  private readonly told = new Set<Chart>();
  private plots: Plots | undefined;
  private stale = true;
  private staleCharts = true;

  constructor(private readonly head: NodesHead) {
    this.timeline = new Timeline(1, () => (this.stale = true));
    const { nodes } = head;
    by('caption').textContent = `Nodes of a real overlay, by the metrics that they serve: ${nodes.map(({ name }) => name).join(', ')}.`;
    by('status').textContent = 'waiting for metrics';
    document.body.dataset['kind'] = 'nodes';
    this.cards = nodes.map(({ name, address }, place) => card(name, address, this.line(place)));
    by('arms').replaceChildren(...this.cards.map(({ box }) => box));
    by('charts').replaceChildren();
  }

  take(kind: string, data: unknown): void {
    if (kind !== 'sample') return;
    const looks = data as Looks;
    this.looks.push(looks);
    if (this.looks.length > MOST) this.looks.shift();
    const { timeline } = this;
    timeline.from = this.looks[0]!.at;
    timeline.reached = looks.at;
    timeline.end = Math.max(looks.at, timeline.from + LEAST);
    this.staleCharts = true;
    this.stale = true;
    const answer = looks.nodes.filter((look) => values(look) !== undefined).length;
    by('status').textContent = `metrics, once a second${answer === looks.nodes.length ? '' : `; ${answer} of ${looks.nodes.length} answer`}`;
    this.define(looks);
  }

  frame(now: number): void {
    this.timeline.pass(now);
    if (this.stale && this.looks.length > 0) {
      this.stale = false;
      this.drawCards();
      this.timeline.draw();
      this.plots?.mark(this.timeline.following ? undefined : this.timeline.time);
    }
    if (this.staleCharts && this.plots !== undefined) {
      this.staleCharts = false;
      this.drawCharts();
    }
  }

  resize(): void {
    this.plots?.build();
    this.staleCharts = true;
    this.stale = true;
  }

  close(): void {
    this.timeline.close();
    this.plots?.close();
  }

  private line(place: number): Line {
    const dash = DASHES[Math.floor(place / COLOURS.length) % DASHES.length];
    return { label: this.head.nodes[place]!.name, colour: COLOURS[place % COLOURS.length]!, ...(dash === undefined ? {} : { dash }) };
  }

  /** Makes charts of what nodes tell for the first time. */
  private define({ nodes }: Looks): void {
    for (const said of nodes.map(values)) {
      if (said === undefined) continue;
      for (const chart of CHARTS) {
        if (chart.value(said, said, 1) !== null) this.told.add(chart);
      }
      for (const name of Object.keys(said)) {
        const [base, label] = name.split('{') as [string, string?];
        const unknown = base.startsWith('transport_') && label === 'mean}' && !this.measured.has(base);
        if (unknown) this.measured.set(base, transportChart(base));
      }
    }
    const charts = [...CHARTS.filter((chart) => this.told.has(chart)), ...this.measured.values()];
    if (this.charts.length === charts.length) return;
    this.charts = charts;
    this.plots?.close();
    const lines = this.head.nodes.map((_, place) => this.line(place));
    const plots = charts.map((chart) => ({ title: chart.title, unit: chart.unit, lines, fromZero: this.told.has(chart) }));
    this.plots = new Plots(by('charts'), plots);
  }

  private drawCharts(): void {
    const { from, end } = this.timeline;
    const lines = this.head.nodes.map((_, place) => place);
    const charts = this.charts.map(({ value }) => lines.map((place): Values =>
      this.looks.map(({ at, nodes }, index) => {
        const now = values(nodes[place]);
        const before = this.looks[Math.max(0, index - WINDOW)]!;
        const earlier = values(before.nodes[place]);
        if (now === undefined) return [at, null];
        return [at, value(now, earlier ?? {}, earlier === undefined ? 0 : at - before.at)];
      })));
    this.plots!.update(charts, [from, end]);
  }

  private drawCards(): void {
    const { time } = this.timeline;
    const looks = this.looks.findLast(({ at }) => at <= time) ?? this.looks[0]!;
    looks.nodes.forEach((look, place) => {
      const { box, note, strip } = this.cards[place]!;
      box.classList.toggle('silent', look.problem !== undefined);
      if (look.problem !== undefined) {
        note.textContent = look.problem;
        return;
      }
      const { role, transport, network } = look.about;
      const bucket = look.values['bucket_rate_bytes_per_second'];
      const limit = bucket === undefined ? undefined : `bucket ${rate(bucket)}`;
      note.textContent = [role, transport, network, limit].filter((it) => it !== undefined).join(' · ');
      strip.replaceChildren(...facts(look.values));
    });
  }
}

const by = (id: string) => document.getElementById(id)!;

function card(name: string, address: string, line: Line) {
  const [box, title, note, strip] = ['section', 'h2', 'small', 'div'].map((it) => document.createElement(it));
  box!.className = 'arm node';
  const label = element('name', name);
  label.style.color = `var(--${line.colour})`;
  title!.append(lineSample(line), label, note!);
  title!.title = address;
  strip!.className = 'strip';
  box!.append(title!, strip!);
  return { box: box!, note: note!, strip: strip! };
}

/** What a node has at the moment, as bars. */
function facts(now: Numbers): HTMLElement[] {
  const fact = (name: string, filled: HTMLElement, text: string) => {
    const made = element('hop');
    made.append(element('name', name), filled, element('value', text));
    return made;
  };
  const share = (name: string, held: string, most: string, scale = 1, unit = '') => {
    const [value, limit] = [now[held], now[most]];
    if (value === undefined) return [];
    const say = (amount: number) => (scale === 1 ? count(amount) : number(amount / scale)) + unit;
    if (limit === undefined) return [fact(name, bar('bar', 0), say(value))];
    return [fact(name, bar('bar', value / limit), `${say(value)} of ${say(limit)}`)];
  };
  const queued = now['queued_cells'];
  return [
    ...(queued === undefined ? [] : [fact('queues', queueBar(queued), `${count(queued)} wait`)]),
    ...share('windows', 'outstanding_cells', now['windows'] ? 'window_cells' : ''),
    ...share('circuits', 'circuits', 'limit{circuits}'),
    ...share('links', 'links', 'limit{links}'),
    ...share('memory', 'memory_held_bytes', 'memory_limit_bytes', 1e6, ' MB'),
  ];
}
