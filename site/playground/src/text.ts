/** Numbers as people read them. */

import type { Knob } from './wire.ts';

const short = new Intl.NumberFormat('en', { maximumSignificantDigits: 3 });

export const number = (value: number): string => short.format(value);

export const seconds = (value: number): string =>
  value < 1 ? `${number(value * 1e3)} ms` : `${number(value)} s`;

export const rate = (bytesPerSecond: number): string =>
  bytesPerSecond < 1e6 ? `${number(bytesPerSecond / 1e3)} kB/s` : `${number(bytesPerSecond / 1e6)} MB/s`;

export const cells = (count: number): string => (count === 1 ? '1 cell' : `${number(count)} cells`);

export const speed = (factor: number): string => `${number(factor)}×`;

/** A knob's value as it is shown. */
export function shown({ unit }: Knob, value: number): string {
  switch (unit) {
    case 'none':
      return number(value);
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
      return whole ? String(Math.round(value)) : Number.isInteger(rounded) ? `${rounded}.0` : String(rounded);
    case 'milliseconds':
      return `"${rounded} ms"`;
    case 'kilobytes-per-second':
      return `"${rounded} kB/s"`;
  }
}

export const median = (values: number[]): number | undefined => {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)];
};
