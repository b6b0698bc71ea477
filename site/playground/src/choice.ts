/** What the user looks at: a circuit, or a relay. */

import type { Network } from './wire.ts';

/** A machine or a user, by number. */
export type Choice = { machine: number } | { user: number };

/** The user that was chosen, or the first one over the relay that was. */
export function chosenUser({ users }: Network, choice: Choice): number {
  if ('user' in choice) return choice.user;
  const over = users.findIndex(({ paths }) => paths[0]!.includes(choice.machine));
  return Math.max(0, over);
}

/** Machines that circuits pass behind their clients, by number. */
function relays({ machines, users }: Network): number[] {
  const passed = new Set(users.flatMap(({ paths }) => paths.flatMap((path) => path.slice(1))));
  return [...machines.keys()].filter((machine) => passed.has(machine));
}

/** The same choice in a network, or the first user if it has no such user or relay. */
export function within(network: Network, choice: Choice): Choice {
  const there = 'user' in choice ? choice.user < network.users.length : relays(network).includes(choice.machine);
  return there ? choice : { user: 0 };
}

const written = (choice: Choice): string => ('user' in choice ? `user ${choice.user}` : `machine ${choice.machine}`);

/** A list of all circuits and relays; `choose` hears what is chosen from it. */
export class ChoiceList {
  readonly box = document.createElement('select');

  constructor(network: Network, choose: (choice: Choice) => void) {
    this.box.className = 'choice';
    this.box.setAttribute('aria-label', 'Circuit or relay to look at');
    const group = (label: string, options: [string, Choice][]) => {
      const made = document.createElement('optgroup');
      made.label = label;
      made.append(...options.map(([name, choice]) => new Option(name, written(choice))));
      return made;
    };
    this.box.append(
      group('circuits', network.users.map((it, user) => [`user ${user} (${it.class})`, { user }])),
      group('relays', relays(network).map((machine) => [network.machines[machine]!.name, { machine }])),
    );
    this.box.addEventListener('change', () => {
      const [kind, number] = this.box.value.split(' ');
      choose(kind === 'user' ? { user: Number(number) } : { machine: Number(number) });
    });
  }

  show(choice: Choice): void {
    const value = written(choice);
    if (this.box.value !== value) this.box.value = value;
  }
}
