/** What the user looks at: a circuit, or a relay. */

import type { Network, View } from './wire.ts';

/** A machine or a user, by number. */
export type Choice = { machine: number } | { user: number };

/**
 * Where a user's circuits lead at the time of a view, from the client to the exit: those that the user
 * has, which after a fault may be others than at the start. Without circuits those at the start.
 */
export function present({ users }: Network, view: View, user: number): number[][] {
  const { paths, uploads } = users[user]!;
  const { hops } = view.users[user]!;
  // Who uploads builds no other circuit; the exit, which sends nothing, is not among the hops.
  if (uploads || hops.length === 0) return paths;
  const [client, exit] = [paths[0]![0]!, hops[0]![0]];
  // All circuits of a user begin at the same exit.
  const circuits: number[][] = [];
  for (const [machine] of hops) {
    if (machine === exit) circuits.push([]);
    circuits.at(-1)!.unshift(machine);
  }
  return circuits.map((relays) => [client, ...relays]);
}

/** The user that was chosen, or the first one over the relay that was: at the time of a view, or else at the start. */
export function chosenUser(network: Network, view: View, choice: Choice): number {
  if ('user' in choice) return choice.user;
  const over = (paths: number[][]) => paths.some((path) => path.includes(choice.machine));
  const now = network.users.findIndex((_, user) => over(present(network, view, user)));
  return Math.max(0, now >= 0 ? now : network.users.findIndex(({ paths }) => over(paths)));
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

  constructor(
    private readonly network: Network,
    choose: (choice: Choice) => void,
  ) {
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
    // A relay that circuits pass only later.
    if ('machine' in choice && ![...this.box.options].some((option) => option.value === value)) {
      this.box.lastElementChild!.append(new Option(this.network.machines[choice.machine]!.name, value));
    }
    if (this.box.value !== value) this.box.value = value;
  }
}
