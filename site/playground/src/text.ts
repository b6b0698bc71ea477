/** Numbers as people read them. */

import type { Knob } from './wire.ts';

const short = new Intl.NumberFormat('en', { maximumSignificantDigits: 3 });

export const number = (value: number): string => short.format(value);

const exact = new Intl.NumberFormat('en', { maximumFractionDigits: 0 });

/** A number of things, with every digit. */
export const count = (value: number): string => exact.format(value);

/** A time that goes on, in seconds, with this number of decimals however late it is. */
export const clock = (time: number, decimals: number): string =>
  `${time.toLocaleString('en', { minimumFractionDigits: decimals, maximumFractionDigits: decimals })} s`;

export const seconds = (value: number): string =>
  value < 1 ? `${number(value * 1e3)} ms` : `${number(value)} s`;

export const rate = (bytesPerSecond: number): string =>
  bytesPerSecond < 1e6 ? `${number(bytesPerSecond / 1e3)} kB/s` : `${number(bytesPerSecond / 1e6)} MB/s`;

export const cells = (waiting: number): string => (waiting === 1 ? '1 cell' : `${count(waiting)} cells`);

export const speed = (factor: number): string => `${number(factor)}×`;

/** Whether a knob is a probability, which people read in per cent. */
const isShare = ({ path }: Knob): boolean => path === 'network.access.loss';

/** A knob's value as it is shown. */
export function shown(knob: Knob, value: number): string {
  switch (knob.unit) {
    case 'none':
      if (knob.whole) return count(value);
      return isShare(knob) ? `${number(value * 100)} %` : number(value);
    case 'milliseconds':
      return seconds(value / 1e3);
    case 'kilobytes-per-second':
      return rate(value * 1e3);
  }
}

/** A knob's value as TOML. */
export function written({ unit, whole }: Knob, value: number): string {
  const rounded = Number(value.toPrecision(3));
  switch (unit) {
    case 'none':
      return whole ? String(Math.round(value)) : decimal(rounded);
    case 'milliseconds':
      return `"${rounded} ms"`;
    case 'kilobytes-per-second':
      return `"${rounded} kB/s"`;
  }
}

/** A number in groups of three digits, as it is shown, at the beginning of a text. */
const GROUPED = /^\d{1,3}(,\d{3})+(?=$|[^\d,])/;

/** What a user typed for a knob, as TOML; the simulator says what is allowed if it is not valid. */
export function typed(knob: Knob, entry: string): string {
  const plain = entry.trim().replace(GROUPED, (grouped) => grouped.replaceAll(',', ''));
  const alone = plain !== '' && Number.isFinite(Number(plain));
  if (knob.unit !== 'none') {
    // A number alone has the unit that was shown.
    return JSON.stringify(alone ? `${plain} ${shown(knob, knob.value).split(' ')[1]}` : plain);
  }
  const share = isShare(knob) ? Number(plain.replace(/\s*%$/, '')) / 100 : NaN;
  if (Number.isFinite(share) && plain !== '') return decimal(Number(share.toPrecision(6)));
  if (!alone) return JSON.stringify(plain);
  return knob.whole ? plain : decimal(Number(plain));
}

const decimal = (value: number): string => (Number.isInteger(value) ? `${value}.0` : String(value));

/** The middle of values, or the mean of the two in the middle; undefined if there are none. */
export function median(values: number[]): number | undefined {
  const sorted = values.toSorted((a, b) => a - b);
  const upper = sorted[Math.floor(sorted.length / 2)];
  if (upper === undefined || sorted.length % 2 === 1) return upper;
  return (sorted[sorted.length / 2 - 1]! + upper) / 2;
}
