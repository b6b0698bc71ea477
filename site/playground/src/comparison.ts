/** Transports on a network beside each other, with charts. */

import { Arm } from './arm.ts';
import { Charts } from './charts.ts';
import type { Choice } from './choice.ts';
import type { History, Seen } from './history.ts';
import type { Network } from './wire.ts';

/** What the user does with a comparison. */
export interface Acts {
  /** Puts these transports beside each other. */
  compare(transports: number[]): void;
  choose(choice: Choice): void;
  resized(): void;
}

/** How a network is shown. */
interface Options {
  /** Charts begin at this time. */
  from?: number;
  /** Whether a user without hops has no circuit; otherwise hops were not recorded. */
  whole?: boolean;
}

const by = (id: string) => document.getElementById(id)!;

export class Comparison {
  private arms: Arm[];
  private charts: Charts | undefined;
  private shown: number[] = [];
  private readonly from: number;

  constructor(readonly network: Network, transports: number[], acts: Acts, { from = 0, whole = true }: Options = {}) {
    this.from = from;
    by('arms').replaceChildren();
    this.arms = transports.map((_, place) =>
      new Arm(by('arms'), network, whole, {
        swap: (transport) => acts.compare(this.shown.with(place, transport)),
        choose: acts.choose,
        resized: acts.resized,
      }),
    );
    this.arms.forEach((arm) => arm.measure());
    this.show(transports);
  }

  /** What is beside each other, by number. */
  get transports(): readonly number[] {
    return this.shown;
  }

  /** Puts as many other transports beside each other. */
  show(transports: readonly number[]): void {
    this.shown = [...transports];
    this.arms.forEach((arm, place) => arm.name(transports[place]!));
    this.charts?.close();
    const labels = transports.map((transport) => this.network.transports[transport]!);
    this.charts = new Charts(by('charts'), this.network, labels, this.from);
  }

  /** Says again which transports are shown, where another one was chosen in vain. */
  rename(): void {
    this.arms.forEach((arm, place) => arm.name(this.shown[place]!));
  }

  /** Draws what is seen of each transport, with cells moved on to a time. */
  draw(seen: (transport: number) => Seen, time: number, choice: Choice): void {
    this.arms.forEach((arm, place) => {
      const it = seen(this.shown[place]!);
      arm.draw(it, Math.max(it.view.now, time), choice);
    });
  }

  /** Draws the charts, of the history of each transport, for the circuit that was drawn last. */
  drawCharts(history: (transport: number) => History): void {
    this.charts?.update(this.shown.map(history), this.arms.map((arm) => arm.user));
  }

  /** Marks a time in all charts; undefined: none. */
  mark(time: number | undefined): void {
    this.charts?.mark(time);
  }

  /** Takes over size and colours of the page. */
  resize(): void {
    this.arms.forEach((arm) => arm.measure());
    this.charts?.build();
  }

  /** Frees what the charts hold. */
  close(): void {
    this.charts?.close();
  }
}
