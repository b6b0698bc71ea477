/** Where the machines of a network stand: clients left, exits right. */

export interface Place {
  /** From 0, left, to 1, right. */
  x: number;
  /** From 0, top, to 1, bottom. */
  y: number;
  /** Whether it is where circuits begin. */
  client: boolean;
}

/** Of so many machines a place for each that one of these paths passes, by number. */
export function layout(machines: number, paths: number[][]): (Place | undefined)[] {
  const all = [...Array(machines).keys()];
  const columns = all.map(() => ({ sum: 0, count: 0, client: true }));
  const neighbours = all.map(() => new Set<number>());
  for (const path of paths) {
    path.forEach((machine, position) => {
      const column = columns[machine]!;
      column.sum += position / (path.length - 1);
      column.count += 1;
      column.client &&= position === 0;
      for (const beside of [path[position - 1], path[position + 1]]) {
        if (beside !== undefined) neighbours[machine]!.add(beside);
      }
    });
  }
  const x = columns.map(({ sum, count }) => (count > 0 ? sum / count : NaN));
  const longest = paths.reduce((most, path) => Math.max(most, path.length), 2);
  const column = (at: number) => Math.round(at * (longest - 1));
  const used = x.flatMap((at, machine) => (Number.isNaN(at) ? [] : [machine]));
  const y = new Map<number, number>();
  const groups = Map.groupBy(used, (machine) => column(x[machine]!));
  const spread = (group: number[]) =>
    group.forEach((machine, index) => y.set(machine, (index + 0.5) / group.length));
  groups.forEach(spread);
  // Machines move to the middle of their neighbours, column by column, until little crosses.
  for (let round = 0; round < 6; round += 1) {
    for (const group of groups.values()) {
      const middle = (machine: number) => {
        const beside = [...neighbours[machine]!].map((it) => y.get(it) ?? 0.5);
        return beside.reduce((a, b) => a + b, 0) / Math.max(1, beside.length);
      };
      const middles = new Map(group.map((machine) => [machine, middle(machine)]));
      group.sort((a, b) => middles.get(a)! - middles.get(b)! || a - b);
      spread(group);
    }
  }
  return all.map((machine) =>
    y.has(machine)
      ? {
          x: column(x[machine]!) / (longest - 1),
          y: y.get(machine)!,
          client: columns[machine]!.client,
        }
      : undefined,
  );
}
