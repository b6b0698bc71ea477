/** One transport on its network, beside another. */

import { summary } from './charts.ts';
import type { History } from './history.ts';
import { chosenUser, Stage, type Choice } from './stage.ts';
import { drawStrip } from './strip.ts';
import type { Network, View } from './wire.ts';

export interface Arm {
  transport: number;
  box: HTMLElement;
  view: View;
  history: History;
  /** Takes over size and colours of the page. */
  measure(): void;
  /** Draws the view at a time, which is that of the view or a little later. */
  draw(time: number, choice: Choice): void;
}

/** What the user does with an arm. */
export interface Acts {
  /** Shows another transport in its place. */
  compare(transport: number): void;
  choose(choice: Choice): void;
  resized(): void;
}

export function makeArm(network: Network, transport: number, view: View, acts: Acts): Arm {
  const [box, title, canvas] = ['section', 'h2', 'canvas'].map((it) => document.createElement(it));
  box!.className = 'arm';
  const select = document.createElement('select');
  select.setAttribute('aria-label', 'Transport');
  select.append(...network.transports.map((label, number) => new Option(label, String(number))));
  select.value = String(transport);
  select.addEventListener('change', () => acts.compare(Number(select.value)));
  const note = document.createElement('small');
  title!.append(select, note);
  const strip = document.createElement('div');
  strip.className = 'strip';
  box!.append(title!, canvas!, strip);
  document.getElementById('arms')!.append(box!);
  const stage = new Stage(canvas as HTMLCanvasElement, network);
  new ResizeObserver(() => {
    stage.measure();
    acts.resized();
  }).observe(canvas!);
  canvas!.addEventListener('click', ({ offsetX, offsetY }) => {
    const choice = stage.at(offsetX, offsetY);
    if (choice !== undefined) acts.choose(choice);
  });
  const arm: Arm = {
    transport,
    box: box!,
    view,
    history: { samples: [], downloads: [] },
    measure: () => stage.measure(),
    draw: (time, choice) => {
      stage.draw(arm.view, time, choice);
      drawStrip(strip, network, arm.view, chosenUser(network, choice));
      note.textContent = summary(arm.history, network);
    },
  };
  return arm;
}
