/** One circuit: its hops from the source to the client, with queue and window of each. */

import { cells, count, number, rate } from './text.ts';
import type { Network, User, UserView, View } from './wire.ts';

export const element = (name: string, text = ''): HTMLElement => {
  const made = document.createElement('span');
  made.className = name;
  made.textContent = text;
  return made;
};

/** A bar that is filled from 0 to 1. */
export function bar(name: string, part: number): HTMLElement {
  const made = element(name);
  const fill = element('fill');
  fill.style.width = `${Math.min(100, 100 * part)}%`;
  made.append(fill);
  return made;
}

/** A bar of a queue: the square root shows both ten cells and a thousand. */
export const queueBar = (queued: number): HTMLElement => bar('bar queue', Math.sqrt(queued / 1000));

/** Draws the circuit of a user; `whole`: one without hops has none, otherwise hops were not recorded. */
export function drawStrip(into: HTMLElement, network: Network, view: View, user: number, whole: boolean): void {
  const parts = view.users[user]!.hops.map(([machine, queued, outstanding, window]) => {
    const hop = element('hop');
    const full = window ?? Math.max(outstanding, 1);
    const { name, bucket } = network.machines[machine]!;
    hop.append(element('name', bucket === null ? name : `${name}, ${rate(bucket)}`));
    hop.append(queueBar(queued), element('value', `${cells(queued)} wait`));
    const under = window === null ? `${cells(outstanding)} under way` : `${count(outstanding)} of window ${count(window)}`;
    hop.append(bar('bar', outstanding / Math.max(1, full)), element('value', under));
    return hop;
  });
  into.replaceChildren(...parts, drawEnd(network.users[user]!, user, view.users[user]!, whole));
}

/** Where the data goes, and how much of it is there. */
function drawEnd(user: User, place: number, { hops, pending, transfer, delivered }: UserView, whole: boolean): HTMLElement {
  const end = element('hop end');
  const [source, sink] = user.uploads ? ['client', 'exit'] : ['exit', 'client'];
  end.append(element('name', `${sink} of user ${place} (${user.class})`));
  const [, received, size] = transfer ?? [0, 0, null];
  const progress = size === null ? `${number(delivered / 1e3)} kB so far` : `${number(received / 1e3)} of ${number(size / 1e3)} kB`;
  const resting = hops.length > 0 ? 'is reading' : whole ? 'has no circuit' : 'no transfer under way';
  end.append(element('value', transfer === null ? resting : progress));
  end.append(element('value', size !== null && pending > 0 ? `${number(pending / 1e3)} kB wait at the ${source}` : ''));
  return end;
}
