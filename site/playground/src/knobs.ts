/** Sliders and fields for the numbers of a scenario. */

import { shown, typed, written } from './text.ts';
import type { Knob } from './wire.ts';

const STEPS = 200;

/** Sliders have more room where values are small. */
const CURVE = 3;

const position = ({ least, most }: Knob, value: number): number =>
  STEPS * Math.min(1, Math.max(0, (value - least) / (most - least))) ** (1 / CURVE);

function value({ least, most, whole }: Knob, at: number): number {
  const exact = least + (most - least) * (at / STEPS) ** CURVE;
  if (whole) return Math.round(exact);
  // Round values: two digits, and no finer than a thousandth of the range.
  const grain = 10 ** Math.max(Math.floor(Math.log10(exact || most)) - 1, Math.floor(Math.log10(most)) - 3);
  return Math.min(most, Math.max(least, Number((Math.round(exact / grain) * grain).toPrecision(6))));
}

/** Where a slider goes that a key moved: on to another value, however many steps that takes. */
function onward(knob: Knob, from: number, to: number): number {
  const before = value(knob, from);
  let at = to;
  while (at > 0 && at < STEPS && value(knob, at) === before) at += Math.sign(to - from) || 1;
  return at;
}

/** Knobs whose sliders have the ranges that those of the same name had before. */
export const keepRanges = (knobs: Knob[], before: Knob[]): Knob[] =>
  knobs.map((knob) => {
    const old = before.find(({ path }) => path === knob.path);
    return old === undefined ? knob : { ...knob, least: old.least, most: old.most };
  });

/** Draws all knobs; `turned` hears of a new value, written as TOML. The focus stays where it was, and what is typed or selected there. */
export function drawKnobs(
  into: HTMLElement,
  knobs: Knob[],
  turned: (knob: Knob, value: string) => void,
): void {
  const parts: HTMLElement[] = [];
  for (const [group, members] of Map.groupBy(knobs, (knob) => knob.group)) {
    const title = document.createElement('h3');
    title.textContent = group;
    const movable = members.filter(({ least, most }) => least < most);
    parts.push(title, ...movable.map((it) => slider(it, label(it, movable), turned)));
  }
  const focused = document.activeElement;
  const before = focused instanceof HTMLInputElement && into.contains(focused) ? focused : undefined;
  into.replaceChildren(...parts);
  if (before === undefined) return;
  const inputs = [...into.querySelectorAll('input')];
  const after = inputs.find(({ name, type }) => name === before.name && type === before.type);
  after?.focus();
  if (after === undefined || before.type !== 'text') return;
  if (before.value !== before.defaultValue) after.value = before.value;
  const { selectionStart, selectionEnd } = before;
  // All that is selected stays selected, so that what is typed next takes its place.
  if (selectionStart === 0 && selectionEnd === before.value.length) after.select();
  else after.setSelectionRange(selectionStart, selectionEnd);
}

/** A knob's name; groups of circuits of the same kind are numbered as they stand in the scenario. */
const label = ({ name, path }: Knob, members: Knob[]): string =>
  members.filter((other) => other.name === name).length > 1 ? `${name}, group ${Number(/\[(\d+)\]/.exec(path)?.[1]) + 1}` : name;

function slider(knob: Knob, label: string, turned: (knob: Knob, value: string) => void): HTMLElement {
  const row = document.createElement('label');
  row.title = knob.about;
  const name = document.createElement('span');
  name.textContent = label;
  const field = document.createElement('input');
  Object.assign(field, { type: 'text', name: knob.path, defaultValue: shown(knob, knob.value), autocomplete: 'off', spellcheck: false });
  field.setAttribute('aria-label', `${label}, value`);
  // What is typed takes the place of what was there.
  field.addEventListener('click', () => {
    if (field.selectionStart === field.selectionEnd) field.select();
  });
  const take = () => {
    if (field.value === field.defaultValue) return;
    field.defaultValue = field.value;
    turned(knob, typed(knob, field.value));
  };
  field.addEventListener('change', take);
  field.addEventListener('keydown', ({ key }) => key === 'Enter' && take());
  const input = document.createElement('input');
  Object.assign(input, { type: 'range', name: knob.path, min: '0', max: String(STEPS), step: '1' });
  input.value = String(position(knob, knob.value));
  input.dataset['path'] = knob.path;
  input.setAttribute('aria-label', label);
  let last = Number(input.value);
  let keyed = false;
  input.addEventListener('keydown', () => (keyed = true));
  input.addEventListener('pointerdown', () => (keyed = false));
  const at = () => value(knob, Number(input.value));
  const say = () => {
    if (keyed) input.value = String(onward(knob, last, Number(input.value)));
    last = Number(input.value);
    field.value = shown(knob, at());
    input.setAttribute('aria-valuetext', field.value);
  };
  input.setAttribute('aria-valuetext', field.value);
  input.addEventListener('input', say);
  input.addEventListener('change', () => turned(knob, written(knob, at())));
  row.append(name, field, input);
  return row;
}
