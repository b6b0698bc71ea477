/** Sliders for the numbers of a scenario. */

import { shown, written } from './text.ts';
import type { Knob } from './wire.ts';

const STEPS = 200;

/** Sliders have more room where values are small. */
const CURVE = 3;

const position = ({ least, most }: Knob, value: number): number =>
  STEPS * ((value - least) / (most - least)) ** (1 / CURVE);

function value({ least, most, whole }: Knob, at: number): number {
  const exact = least + (most - least) * (at / STEPS) ** CURVE;
  return whole ? Math.round(exact) : exact;
}

/** Draws all sliders; `turned` hears of a new value, written as TOML. */
export function drawKnobs(
  into: HTMLElement,
  knobs: Knob[],
  turned: (knob: Knob, value: string) => void,
): void {
  const parts: HTMLElement[] = [];
  for (const [group, members] of Map.groupBy(knobs, (knob) => knob.group)) {
    const title = document.createElement('h3');
    title.textContent = group;
    parts.push(title, ...members.filter(({ least, most }) => least < most).map((it) => slider(it, turned)));
  }
  into.replaceChildren(...parts);
}

function slider(knob: Knob, turned: (knob: Knob, value: string) => void): HTMLElement {
  const label = document.createElement('label');
  label.title = knob.about;
  const name = document.createElement('span');
  name.textContent = knob.name;
  const output = document.createElement('output');
  output.textContent = shown(knob, knob.value);
  const input = document.createElement('input');
  Object.assign(input, { type: 'range', min: '0', max: String(STEPS), step: '1' });
  input.value = String(position(knob, knob.value));
  input.dataset['path'] = knob.path;
  input.addEventListener('input', () => {
    output.textContent = shown(knob, value(knob, Number(input.value)));
  });
  input.addEventListener('change', () => turned(knob, written(knob, value(knob, Number(input.value)))));
  label.append(name, output, input);
  return label;
}
