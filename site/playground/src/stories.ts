/** Guided stories: a scenario, and what to look at when. */

import failure from '../stories/failure.toml';
import neighbours from '../stories/neighbours.toml';
import sharing from '../stories/sharing.toml';
import startUp from '../stories/start-up.toml';
import window from '../stories/window.toml';

export interface Story {
  /** The name in an address. */
  name: string;
  title: string;
  text: string;
  speed: number;
  /** What to read from which simulated second on. */
  captions: [number, string][];
}

export const STORIES: Story[] = [
  {
    name: 'window',
    title: 'Why queues grow with the window',
    text: window,
    speed: 0.5,
    captions: [
      [0, 'One client downloads over three relays. The middle one may send 500 kB a second. Left, Tor’s classic transport with a fixed window; right, BackTap.'],
      [0.3, 'The exit sends as fast as its window lets it, for it does not know how slow the middle is. What the middle cannot send waits there.'],
      [2, 'Vanilla’s window is 500 cells per stream, and the path holds some sixty of them. Some hundred and fifty wait in the middle: a cell spends more time in the queue than on its way.'],
      [5, 'BackTap’s exit hears what the middle forwards: its window has shrunk from 140 cells to about 70, and some ten wait in the middle. Both deliver the same rate: look at the first chart. Now move the delay and see which queue follows.'],
    ],
  },
  {
    name: 'neighbours',
    title: 'What one slow relay does to its neighbours',
    text: neighbours,
    speed: 0.5,
    captions: [
      [0, 'Six web users come in over the fast guard, two endless downloads over the slow one. All share a middle relay and an exit.'],
      [2, 'With vanilla the exit sends a whole window on each circuit, and more than 800 cells wait in the slow guard. With BackTap every node hears what the next one forwards, and sends no more than that: what waits gets less.'],
      [6, 'With BackTap few cells wait now. But the first page of each web user took longer than with vanilla, for its windows had to grow from two cells: see the third chart.'],
      [18, 'Later pages find windows that have grown. Most of them take BackTap a third less time than vanilla; the median, above, counts the first pages, too, and follows.'],
    ],
  },
  {
    name: 'start-up',
    title: 'How BackTap’s window finds its size',
    text: startUp,
    speed: 0.1,
    captions: [
      [0, 'The window begins with two cells. Each round trip it grows, as long as the queue that it makes is short.'],
      [0.5, 'As the paper prints it, the window doubles like TCP’s and leaves slow start at the first sign of a queue. On the right it is hopflow’s variant.'],
      [3, 'Click a relay or the client to see queue and window of every hop below.'],
    ],
  },
  {
    name: 'sharing',
    title: 'Sharing a link with other downloads',
    text: sharing,
    speed: 1,
    captions: [
      [0, 'Six circuits lead over a relay on a home line of 20 Mbit/s. Nobody else uses it yet.'],
      [12, 'Two ordinary TCP downloads begin on the same line. They fill its queue until packets are lost.'],
      [18, 'BackTap, left, takes the long queue for its own and gives way, nearly all. Vanilla’s TCP connections, right, keep their share. A transport that yields to everybody is no good neighbour to its own users.'],
    ],
  },
  {
    name: 'failure',
    title: 'A relay dies',
    text: failure,
    speed: 1,
    captions: [
      [0, 'Sixteen users on six relays.'],
      [10, 'relay-1 stops. Its neighbours notice after half a second and close its circuits.'],
      [11.5, 'A second later each of these users has another circuit, and asks again for what it was fetching.'],
      [20, 'relay-1 is back. Nobody uses it until somebody builds a new circuit: load does not move by itself.'],
    ],
  },
];

/** The caption at a time. */
export function caption({ captions }: Story, time: number): string {
  return captions.findLast(([from]) => from <= time)?.[1] ?? '';
}
