/** One transport on its network, beside another. */

import { summary } from './charts.ts';
import { ChoiceList, chosenUser, type Choice } from './choice.ts';
import type { Seen } from './history.ts';
import { Stage } from './stage.ts';
import { drawStrip } from './strip.ts';
import type { Network } from './wire.ts';

/** What the user does with an arm. */
export interface Acts {
  /** Shows another transport in its place. */
  swap(transport: number): void;
  choose(choice: Choice): void;
  resized(): void;
}

export class Arm {
  readonly box = document.createElement('section');
  private readonly select = document.createElement('select');
  private readonly list: ChoiceList;
  private readonly note = document.createElement('small');
  private readonly canvas = document.createElement('canvas');
  private readonly strip = document.createElement('div');
  private readonly stage: Stage;
  private shown = 0;

  constructor(
    into: HTMLElement,
    private readonly network: Network,
    /** Whether a user without hops has no circuit; otherwise hops were not recorded. */
    private readonly whole: boolean,
    acts: Acts,
  ) {
    const { box, select, canvas } = this;
    box.className = 'arm';
    select.setAttribute('aria-label', 'Transport');
    select.append(...network.transports.map((label, number) => new Option(label, String(number))));
    select.addEventListener('change', () => acts.swap(Number(select.value)));
    this.list = new ChoiceList(network, acts.choose);
    const title = document.createElement('h2');
    title.append(select, this.list.box, this.note);
    this.strip.className = 'strip';
    canvas.setAttribute('role', 'img');
    box.append(title, canvas, this.strip);
    into.append(box);
    this.stage = new Stage(canvas, network);
    new ResizeObserver(() => {
      this.measure();
      acts.resized();
    }).observe(canvas);
    canvas.addEventListener('click', ({ offsetX, offsetY }) => {
      const choice = this.stage.at(offsetX, offsetY);
      if (choice !== undefined) acts.choose(choice);
    });
  }

  /** Says which transport it shows. */
  name(transport: number): void {
    this.select.value = String(transport);
    const label = this.network.transports[transport]!;
    this.canvas.setAttribute('aria-label', `The network with ${label}: clients left, exits right; the chosen circuit is described below`);
  }

  /** Whose circuit was drawn last. */
  get user(): number {
    return this.shown;
  }

  /** Takes over size and colours of the page. */
  measure(): void {
    this.stage.measure();
  }

  /** Draws what is seen at a time, which is that of the view or a little later. */
  draw({ view, history }: Seen, time: number, choice: Choice): void {
    this.stage.draw(view, time, choice);
    this.list.show(choice);
    this.shown = chosenUser(this.network, view, choice);
    drawStrip(this.strip, this.network, view, this.shown, this.whole);
    this.note.textContent = summary(history, this.network);
  }
}
