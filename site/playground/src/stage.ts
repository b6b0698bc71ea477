/** The network of one transport, with cells that move and queues that grow and drain. */

import { present, type Choice } from './choice.ts';
import { layout, type Place } from './layout.ts';
import { cells } from './text.ts';
import type { Network, View } from './wire.ts';

/** Queues are drawn full from so many cells on. */
const FULL = 4000;

/** Relays need so many pixels each for words above and below, and beside. */
const ROOM = 58;
const LEAST_ROOM = 10;

/** From where to where paths lead, each pair of machines once, by a name. */
function edges(paths: number[][]): Map<string, [number, number]> {
  const all = new Map<string, [number, number]>();
  for (const path of paths) {
    for (let hop = 1; hop < path.length; hop += 1) {
      all.set(`${path[hop - 1]} ${path[hop]}`, [path[hop - 1]!, path[hop]!]);
    }
  }
  return all;
}

interface Colours {
  text: string;
  faint: string;
  surface: string;
  line: string;
  bulk: string;
  web: string;
  chosen: string;
  queue: string;
}

/** The paths of all users at the time of a view, and from where to where they lead. */
interface Drawn {
  view: View;
  paths: number[][][];
  edges: Map<string, [number, number]>;
}

export class Stage {
  /** The paths of which every machine has a place. */
  private laid: number[][] = [];
  private places: (Place | undefined)[] = [];
  /** Of each machine, how many stand above each other where it stands. */
  private crowds: number[] = [];
  /** What was drawn last: between two views only packets move. */
  private drawn: Drawn | undefined;
  private colours!: Colours;
  private width = 0;
  private height = 0;

  constructor(
    private readonly canvas: HTMLCanvasElement,
    private readonly network: Network,
  ) {
    this.lay(network.users.flatMap(({ paths }) => paths));
    this.measure();
  }

  /** Gives places to the machines of further paths; those of others may change. */
  private lay(paths: number[][]): void {
    this.laid = [...this.laid, ...paths];
    this.places = layout(this.network.machines.length, this.laid);
    const high = new Map<number | undefined, number>();
    for (const place of this.places) high.set(place?.x, (high.get(place?.x) ?? 0) + 1);
    this.crowds = this.places.map((place) => high.get(place?.x)!);
  }

  /** Takes over size and colours of the page. */
  measure(): void {
    const { clientWidth, clientHeight } = this.canvas;
    const scale = window.devicePixelRatio || 1;
    this.width = clientWidth;
    this.height = clientHeight;
    this.canvas.width = Math.round(clientWidth * scale);
    this.canvas.height = Math.round(clientHeight * scale);
    this.canvas.getContext('2d')!.setTransform(scale, 0, 0, scale, 0, 0);
    const style = getComputedStyle(this.canvas);
    const colour = (name: string) => style.getPropertyValue(`--${name}`).trim();
    this.colours = {
      text: colour('text'),
      faint: colour('faint'),
      surface: colour('surface'),
      line: colour('line'),
      bulk: colour('bulk'),
      web: colour('web'),
      chosen: colour('chosen'),
      queue: colour('queue'),
    };
  }

  /** What is at a point of the canvas. */
  at(x: number, y: number): Choice | undefined {
    let best: { machine: number; far: number } | undefined;
    this.places.forEach((place, machine) => {
      if (place === undefined) return;
      const [px, py] = this.point(place);
      const far = Math.hypot(px - x, py - y);
      if (far < 24 && far < (best?.far ?? Infinity)) best = { machine, far };
    });
    if (best === undefined) return undefined;
    const { machine } = best;
    const user = this.network.users.findIndex(({ paths }) => paths[0]![0] === machine);
    return user >= 0 ? { user } : { machine };
  }

  /** Draws what a view shows at a time, which is that of the view or a little later. */
  draw(view: View, time: number, choice: Choice | undefined): void {
    const context = this.canvas.getContext('2d')!;
    context.clearRect(0, 0, this.width, this.height);
    if (this.drawn?.view !== view) {
      const paths = this.network.users.map((_, user) => present(this.network, view, user));
      const further = paths.flat().filter((path) => path.some((machine) => this.places[machine] === undefined));
      if (further.length > 0) this.lay(further);
      this.drawn = { view, paths, edges: edges(paths.flat()) };
    }
    this.drawEdges(context, this.drawn, choice);
    this.drawPackets(context, view, time, choice);
    const queues = this.queues(view);
    const most = queues.indexOf(Math.max(...queues));
    this.places.forEach((place, machine) => {
      if (place === undefined) return;
      if (place.client) this.drawClient(context, place, machine, view, choice);
      else this.drawRelay(context, place, machine, queues[machine]!, machine === most, choice);
    });
  }

  /** Cells that wait at each machine. */
  private queues(view: View): number[] {
    const queues = this.network.machines.map(() => 0);
    for (const [machine, queued] of view.users.flatMap(({ hops }) => hops)) {
      queues[machine]! += queued;
    }
    return queues;
  }

  private point({ x, y }: Place): [number, number] {
    const margin = 44;
    return [margin + x * (this.width - 2 * margin), 22 + y * (this.height - 44)];
  }

  /** Draws the paths of all users. */
  private drawEdges(context: CanvasRenderingContext2D, drawn: Drawn, choice: Choice | undefined): void {
    const own = choice !== undefined && 'user' in choice ? edges(drawn.paths[choice.user]!) : new Map();
    for (const [name, edge] of drawn.edges) {
      const [from, to] = edge.map((machine) => this.point(this.places[machine]!));
      const chosen = own.has(name) || (choice !== undefined && 'machine' in choice && edge.includes(choice.machine));
      context.strokeStyle = chosen ? this.colours.chosen : this.colours.line;
      context.lineWidth = chosen ? 5 : 1;
      context.globalAlpha = chosen ? 0.3 : 1;
      context.beginPath();
      context.moveTo(...from!);
      context.lineTo(...to!);
      context.stroke();
    }
    context.globalAlpha = 1;
  }

  private drawPackets(
    context: CanvasRenderingContext2D,
    view: View,
    time: number,
    choice: Choice | undefined,
  ): void {
    for (const [from, to, left, arrives, size, count, user] of view.packets) {
      const [a, b] = [this.places[from], this.places[to]];
      if (a === undefined || b === undefined || arrives <= time) continue;
      const part = Math.min(1, Math.max(0, (time - left) / (arrives - left)));
      const [ax, ay] = this.point(a);
      const [bx, by] = this.point(b);
      // Each direction keeps to its right.
      const length = Math.hypot(bx - ax, by - ay) || 1;
      const [nx, ny] = [(-(by - ay) / length) * 3, ((bx - ax) / length) * 3];
      const data = count > 0 || size > 200;
      const chosen = user !== null && choice !== undefined && 'user' in choice && choice.user === user;
      const kind = user === null ? 'bulk' : this.network.users[user]!.class;
      context.fillStyle = data ? this.colours[kind] : this.colours.faint;
      context.globalAlpha = data || chosen ? 0.9 : 0.6;
      context.beginPath();
      const radius = chosen ? 4 : data ? 2.8 : 1.4;
      context.arc(ax + (bx - ax) * part + nx, ay + (by - ay) * part + ny, radius, 0, 7);
      context.fill();
    }
    context.globalAlpha = 1;
  }

  private drawClient(
    context: CanvasRenderingContext2D,
    place: Place,
    machine: number,
    view: View,
    choice: Choice | undefined,
  ): void {
    const [x, y] = this.point(place);
    const user = this.network.users.findIndex(({ paths }) => paths[0]![0] === machine);
    const { transfer } = view.users[user]!;
    const colour = this.colours[this.network.users[user]!.class];
    const chosen = choice !== undefined && 'user' in choice && choice.user === user;
    context.fillStyle = this.colours.surface;
    context.strokeStyle = chosen ? this.colours.chosen : transfer ? colour : this.colours.faint;
    context.lineWidth = chosen ? 3 : 1.5;
    context.beginPath();
    context.arc(x, y, 6, 0, 7);
    context.fill();
    context.stroke();
    if (transfer === null) return;
    const [, received, size] = transfer;
    const part = size === null ? 1 : received / size;
    context.fillStyle = colour;
    context.beginPath();
    context.moveTo(x, y);
    context.arc(x, y, 5, -Math.PI / 2, -Math.PI / 2 + 2 * Math.PI * part);
    context.fill();
  }

  private drawRelay(
    context: CanvasRenderingContext2D,
    place: Place,
    machine: number,
    queued: number,
    most: boolean,
    choice: Choice | undefined,
  ): void {
    const [x, y] = this.point(place);
    const { name, bucket } = this.network.machines[machine]!;
    const chosen = choice !== undefined && 'machine' in choice && choice.machine === machine;
    const pitch = (this.height - 44) / this.crowds[machine]!;
    const [wide, high] = [16, Math.max(4, Math.min(30, pitch - 3))];
    context.fillStyle = this.colours.surface;
    context.strokeStyle = chosen ? this.colours.chosen : this.colours.text;
    context.lineWidth = chosen ? 3 : bucket === null ? 1 : 2;
    context.beginPath();
    context.roundRect(x - wide / 2, y - high / 2, wide, high, 4);
    context.fill();
    context.stroke();
    // The square root shows both ten cells and a thousand.
    const part = Math.min(1, Math.sqrt(queued / FULL));
    context.fillStyle = this.colours.queue;
    const edge = Math.min(2, high / 6);
    context.fillRect(x - wide / 2 + edge, y + high / 2 - edge - (high - 2 * edge) * part, wide - 2 * edge, (high - 2 * edge) * part);
    // Where relays stand close, words stand beside them.
    const beside = pitch < ROOM;
    if (beside && pitch < LEAST_ROOM && !chosen && !most) return;
    context.fillStyle = this.colours.text;
    context.font = `${beside ? 10 : 11}px system-ui, sans-serif`;
    context.textAlign = beside ? 'left' : 'center';
    const last = x > this.width - 80;
    if (!beside) context.fillText(name, x, y + high / 2 + 12);
    else if (!last) context.fillText(name, x + wide / 2 + 4, y + 3.5);
    const waiting = queued > 0 ? cells(queued) : '';
    if (most) context.font = `bold ${context.font}`;
    context.textAlign = beside ? 'right' : 'center';
    const words = beside && last ? `${waiting} ${name}` : waiting;
    if (beside) context.fillText(words, x - wide / 2 - 4, y + 3.5);
    else context.fillText(words, x, y - high / 2 - 4);
  }
}
