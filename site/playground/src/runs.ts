/** Runs that the server tells of: a simulation in progress, or results. */

import { Comparison } from './comparison.ts';
import type { Choice } from './choice.ts';
import type { Moment, RunsHead, Show } from './follow.ts';
import { sample, upTo, type History } from './history.ts';
import { wantsMotion } from './motion.ts';
import { speed } from './text.ts';
import { Timeline } from './timeline.ts';
import type { View } from './wire.ts';

/** Charts follow so often, in milliseconds. */
const CHARTS_EVERY = 250;

/** Cells move on for so many seconds without news. */
const MOVE_ON = 0.08;

/** Results are played in about so many seconds. */
const PLAYED_IN = 45;

const by = (id: string) => document.getElementById(id)!;

export class Runs implements Show {
  private readonly timeline: Timeline;
  /** Moments that can be chosen. */
  private readonly moments: Moment[] = [];
  /** Of each transport. */
  private readonly histories: History[];
  /** The newest moment, and when it came. */
  private newest: (Moment & { came: number }) | undefined;
  private comparison: Comparison | undefined;
  private chosen: Choice = { user: 0 };
  private stale = true;
  private staleCharts = true;
  private lastCharts = 0;

  constructor(private readonly head: RunsHead) {
    const { network } = head;
    this.timeline = new Timeline(0.1, () => (this.stale = true));
    this.timeline.end = network.end;
    this.histories = network.transports.map(() => ({ samples: [], downloads: [] }));
    const note = head.hops === false ? ' Queues and windows were not recorded: a scenario needs hops = "200 ms" under [record].' : '';
    const unknown = head.note == null ? '' : ` ${head.note}`;
    by('caption').textContent = `${network.name}, network ${network.seed}. ${network.about}${note}${unknown}`;
    by('arms').replaceChildren();
    document.body.dataset['kind'] = head.kind;
    this.say();
  }

  take(kind: string, data: unknown): void {
    if (kind === 'frame') this.keep(data as Moment);
    else if (kind === 'moment') this.come(data as Moment);
    else if (kind === 'done') this.timeline.done = true;
    if (kind === 'done' && this.head.kind === 'results') this.begin();
    this.say();
  }

  frame(now: number): void {
    this.timeline.pass(now);
    const news = this.newest !== undefined && now - this.newest.came < 1e3 * MOVE_ON;
    const moves = this.timeline.following && news && wantsMotion();
    if ((this.stale || moves) && this.moments.length > 0) {
      this.stale = false;
      this.draw(now);
      this.timeline.draw();
    }
    if (this.staleCharts && now - this.lastCharts > CHARTS_EVERY && this.comparison !== undefined) {
      this.lastCharts = now;
      this.staleCharts = false;
      this.drawCharts();
    }
  }

  resize(): void {
    this.comparison?.resize();
    this.stale = true;
    this.staleCharts = true;
  }

  close(): void {
    this.timeline.close();
    this.comparison?.close();
  }

  /** Results are there: they are played, unless the user wants no motion. */
  private begin(): void {
    const { timeline } = this;
    timeline.setSpeed(Math.max(1, Math.round((timeline.reached - timeline.from) / PLAYED_IN)));
    if (wantsMotion()) timeline.play(timeline.from);
    else timeline.jump(timeline.from);
  }

  private keep(moment: Moment): void {
    const { network } = this.head;
    moment.views.forEach((view, transport) => {
      const history = this.histories[transport]!;
      history.samples.push(sample(view, network));
      history.downloads.push(...view.downloads);
    });
    if (this.moments.length === 0) this.timeline.from = moment.at;
    this.moments.push(moment);
    this.staleCharts = true;
    // What is kept has no packets: those that were seen last are under way until they arrive.
    const packets = this.newest?.views.map((view) => view.packets) ?? [];
    const views = moment.views.map((view, transport) => ({ ...view, packets: packets[transport] ?? [] }));
    this.come({ at: moment.at, views });
  }

  private come({ at, views }: Moment): void {
    this.newest = { at, views, came: performance.now() };
    this.timeline.reached = Math.max(this.timeline.reached, at);
    this.stale ||= this.timeline.following;
  }

  /** Where things stand, in the page's head. */
  private say(): void {
    const { kind, pace } = this.head;
    const going = pace === null ? 'as fast as it computes' : `${speed(pace)} real time`;
    const simulation = this.timeline.done ? 'simulation, finished' : `simulation in progress, ${going}`;
    const text = kind === 'results' ? 'finished run' : simulation;
    if (by('status').textContent !== text) by('status').textContent = text;
  }

  /** What is shown, and the time to which its cells have moved. */
  private shown(now: number): [View[], number] {
    const { newest, timeline } = this;
    if (timeline.following && newest !== undefined) {
      const passed = wantsMotion() ? Math.min(MOVE_ON, (now - newest.came) / 1e3) : 0;
      return [newest.views, newest.at + passed * (this.head.pace ?? 0)];
    }
    const paused = newest !== undefined && timeline.time >= newest.at ? newest : undefined;
    const moment = paused ?? this.moments.findLast(({ at }) => at <= timeline.time) ?? this.moments[0]!;
    return [moment.views, moment.at];
  }

  private draw(now: number): void {
    const [views, at] = this.shown(now);
    const { time, following } = this.timeline;
    this.comparison ??= this.compare([0, 1].filter((it) => it < views.length));
    const seen = (transport: number) => ({ view: views[transport]!, history: upTo(this.histories[transport]!, time) });
    this.comparison.draw(seen, at, this.chosen);
    this.comparison.mark(following ? undefined : time);
  }

  private compare(transports: number[]): Comparison {
    const acts = {
      compare: (others: number[]) => {
        this.comparison?.show(others);
        this.stale = true;
        this.staleCharts = true;
      },
      choose: (choice: Choice) => {
        this.chosen = choice;
        this.stale = true;
        this.staleCharts = true;
      },
      resized: () => (this.stale = true),
    };
    const { network, kind } = this.head;
    return new Comparison(network, transports, acts, { from: this.timeline.from, whole: kind === 'simulation' });
  }

  private drawCharts(): void {
    this.comparison?.drawCharts((transport) => this.histories[transport]!);
  }
}
