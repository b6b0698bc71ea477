/** Charts over time, in the size and the colours of the page. */

import uPlot from 'uplot';

export interface Line {
  label: string;
  /** The name of a colour of the page. */
  colour: string;
  dash?: number[];
  /** Points in place of a line: their size, and whether they are filled. */
  points?: { size: number; filled: boolean };
}

export interface Plot {
  title: string;
  unit: string;
  lines: Line[];
  /** Whether values are shown from zero on. */
  fromZero?: boolean;
}

/** A piece of a line, with its colour and dashes. */
export function lineSample({ colour, dash }: Line): SVGElement {
  const make = (name: string, attributes: Record<string, string>) => {
    const made = document.createElementNS('http://www.w3.org/2000/svg', name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    return made;
  };
  const picture = make('svg', { class: 'sample', width: '36', height: '8', 'aria-hidden': 'true' });
  const line = make('line', { x1: '0', x2: '36', y1: '4', y2: '4', 'stroke-width': '2.5', 'stroke-dasharray': dash?.join(' ') ?? 'none' });
  line.style.stroke = `var(--${colour})`;
  picture.append(line);
  return picture;
}

/** Values over time; null where there are none. */
export type Values = [number, number | null][];

/** Lines so near to the pointer, in pixels, are named. */
const NEAR = 30;

const FROM_ZERO: uPlot.Scale = { range: { min: { soft: 0, mode: 1 }, max: { pad: 0.1, soft: 0, mode: 2 } } };

/** The values of several lines at all times of any. */
function align(lines: Values[]): uPlot.AlignedData {
  const tables = lines.map((points): uPlot.AlignedData => [
    points.map(([at]) => at),
    points.map(([, value]) => value),
  ]);
  return uPlot.join(tables);
}

export class Plots {
  private plots: uPlot[] = [];
  private data: uPlot.AlignedData[];
  private range: [number, number] = [0, 1];
  /** The time that is marked in all charts. */
  private marked: number | undefined;

  constructor(
    private readonly into: HTMLElement,
    private readonly defined: Plot[],
  ) {
    this.data = defined.map(({ lines }) => [[], ...lines.map(() => [])]);
    this.build();
  }

  /** Frees what the charts hold. */
  close(): void {
    this.plots.forEach((plot) => plot.destroy());
  }

  /** Makes all charts anew, with the values that they show. */
  build(): void {
    this.close();
    this.into.replaceChildren();
    const places = this.defined.map(({ title, unit }) => {
      const place = document.createElement('figure');
      const caption = document.createElement('figcaption');
      caption.textContent = unit === '' ? title : `${title} (${unit})`;
      place.setAttribute('aria-label', caption.textContent);
      place.append(caption);
      this.into.append(place);
      return place;
    });
    const style = getComputedStyle(this.into);
    const colour = (name: string) => style.getPropertyValue(`--${name}`).trim();
    this.plots = this.defined.map((defined, number) => this.plot(defined, this.data[number]!, places[number]!, colour));
  }

  private plot({ lines, fromZero }: Plot, data: uPlot.AlignedData, place: HTMLElement, colour: (name: string) => string): uPlot {
    const axis = { stroke: colour('text'), grid: { stroke: colour('line') }, ticks: { stroke: colour('line') } };
    const series = lines.map(({ label, dash, points, ...line }): uPlot.Series => {
      const stroke = colour(line.colour);
      const drawn = points === undefined
        ? { points: { show: false }, ...(dash === undefined ? {} : { dash }) }
        : { paths: () => null, points: { show: true, size: points.size, fill: points.filled ? stroke : 'transparent' } };
      return { label, stroke, width: 2, ...drawn };
    });
    const options: uPlot.Options = {
      width: Math.max(240, place.clientWidth - 20),
      height: 150,
      legend: { show: false },
      cursor: { drag: { x: false, y: false }, focus: { prox: NEAR } },
      focus: { alpha: 0.4 },
      scales: { x: { time: false, range: () => this.range }, y: fromZero === true ? FROM_ZERO : {} },
      axes: [{ ...axis, values: (_, at) => at.map((it) => `${it} s`) }, { ...axis, size: 54 }],
      series: [{}, ...series],
      hooks: {
        draw: [(plot) => this.drawMark(plot, colour('faint'))],
        setSeries: [(_, number) => this.name(place, lines[(number ?? 0) - 1])],
      },
    };
    const plot = new uPlot(options, data, place);
    plot.ctx.canvas.setAttribute('role', 'img');
    plot.ctx.canvas.setAttribute('aria-label', lines.map(({ label }) => label).join(', '));
    return plot;
  }

  /** Names the line under the pointer beside a chart's title; undefined: there is none. */
  private name(place: HTMLElement, line: Line | undefined): void {
    place.querySelector('.near')?.remove();
    if (line === undefined) return;
    const near = document.createElement('span');
    near.className = 'near';
    near.append(lineSample(line), line.label);
    place.querySelector('figcaption')!.append(near);
  }

  private drawMark({ ctx, bbox, valToPos }: uPlot, colour: string): void {
    if (this.marked === undefined || this.marked < this.range[0] || this.marked > this.range[1]) return;
    const x = Math.round(valToPos(this.marked, 'x', true));
    ctx.save();
    ctx.strokeStyle = colour;
    ctx.lineWidth = 1;
    ctx.beginPath();
    ctx.moveTo(x, bbox.top);
    ctx.lineTo(x, bbox.top + bbox.height);
    ctx.stroke();
    ctx.restore();
  }

  /** Shows values, of each chart those of its lines, over a range of time. */
  update(values: Values[][], range: [number, number]): void {
    this.range = range;
    this.data = values.map(align);
    this.plots.forEach((plot, number) => plot.setData(this.data[number]!));
  }

  /** Marks a time in all charts; undefined: none. */
  mark(time: number | undefined): void {
    if (time === this.marked) return;
    this.marked = time;
    this.plots.forEach((plot) => plot.redraw(false));
  }
}
