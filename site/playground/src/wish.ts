/** What the user wants to see. */

import type { Choice } from './choice.ts';
import { wantsMotion } from './motion.ts';
import type { Story } from './stories.ts';
import type { Knob } from './wire.ts';

/** An entry of the list of scenarios, and the text that it has. */
export interface Origin {
  value: string;
  text: string;
}

/** A scenario, and what of it is shown. It stays what it is while its runs are made: only the user changes it. */
export interface Wish {
  text: string;
  /** What it was made from; the value is empty if it is not from the list. */
  origin: Origin;
  /** Whose captions are told. */
  story: Story | undefined;
  /** What is beside each other. */
  transports: number[];
  /** In simulated seconds. */
  time: number;
  playing: boolean;
  /** Simulated seconds in a second. */
  speed: number;
  choice: Choice;
  /** Its knobs, once they are known; before that those whose sliders' ranges it takes over. */
  knobs: Knob[];
}

/** A scenario from its beginning, played unless the user wants no motion. */
export const fresh = (text: string, speed: number, origin: Origin = { value: '', text: '' }): Wish => ({
  text,
  origin,
  story: undefined,
  transports: [0, 1],
  time: 0,
  playing: wantsMotion(),
  speed,
  choice: { user: 0 },
  knobs: [],
});
