/** The page: what is shown, and what the user does with it. */

import { within } from './choice.ts';
import { Comparison } from './comparison.ts';
import { Editor } from './editor.ts';
import { after, type Seen } from './history.ts';
import { onKeys } from './keys.ts';
import { drawKnobs, keepRanges } from './knobs.ts';
import { readLink, writeLink } from './link.ts';
import { Refused, Simulator } from './simulator.ts';
import { caption, STORIES, type Story } from './stories.ts';
import { clock, speed } from './text.ts';
import { onTheme, switchTheme } from './theme.ts';
import { fresh, type Wish } from './wish.ts';
import type { Builtin, Knob, Network, Problem, View } from './wire.ts';

/** Charts follow so often, in milliseconds. */
const CHARTS_EVERY = 250;

/** Another scenario does not wait longer, in milliseconds, for what the simulator does. */
const PATIENCE = 2000;

const by = <T extends HTMLElement>(id: string) => document.getElementById(id) as T;

class Page {
  private readonly simulator = new Simulator();
  private readonly editor = new Editor(by('toml'), by('lines'), by('draft'));
  private scenarios: Builtin[] = [];
  /** What the user wants to see. */
  private wanted: Wish = fresh('', 1);
  /** The wish that is shown: another one than is wanted while runs are made for that. */
  private shown = this.wanted;
  private comparison: Comparison | undefined;
  /** What is seen of runs, by transport. */
  private seen: Seen[] = [];
  private asking = false;
  /** Whether the runs are on their way to a time that the user chose. */
  private jumping = false;
  private lastFrame = 0;
  private lastCharts = 0;
  /** The last change of a knob, until it is in the text of the editor. */
  private edits: Promise<unknown> = Promise.resolve();
  /** Whether the simulator has made runs that were not shown, since others were asked for. */
  private passedOver = false;

  /** Whether runs are being made; until then nothing is asked of those that are shown. */
  private get loading(): boolean {
    return this.wanted !== this.shown;
  }

  async start(): Promise<void> {
    const asked = new URLSearchParams(location.hash.slice(1));
    try {
      this.scenarios = await this.simulator.ready;
    } catch (error) {
      by('caption').textContent = (error as Error).message;
      return;
    }
    this.fillSources();
    this.listen();
    // The editor, and what is said there, is not shown within another page.
    if (document.documentElement.classList.contains('embedded')) by('caption').after(by('problem'));
    // Where there is little room, knobs open when they are asked for.
    if (matchMedia('(max-width: 900px)').matches) by<HTMLDetailsElement>('turn').open = false;
    requestAnimationFrame(this.frame);
    await this.open(asked);
    document.body.dataset['ready'] = 'true';
  }

  /** Shows what the address asks for; if that cannot be, a story, and why. */
  private async open(asked: URLSearchParams): Promise<void> {
    const name = asked.get('story');
    const story = STORIES.find((it) => it.name === name);
    const names = STORIES.map((it) => it.name).join(', ');
    let problem = name === null || story !== undefined ? undefined : `There is no story ${name}. There are: ${names}.`;
    const link = await readLink(asked).catch(() => {
      problem = 'The link is damaged: its scenario cannot be read. Was all of it copied?';
      return undefined;
    });
    if (link !== undefined) {
      const { text, time, speed } = link;
      if (await this.load({ ...fresh(text, speed), time, playing: false })) return;
      // The user wants something else by now.
      if (this.loading || this.comparison !== undefined) return;
      problem = `The link holds no valid scenario. ${by('problem').textContent}`;
    }
    await this.tell(story ?? STORIES[0]!);
    if (problem !== undefined) this.refuse({ line: null, message: problem });
  }

  private fillSources(): void {
    const group = (label: string, names: string[]) => {
      const made = document.createElement('optgroup');
      made.label = label;
      made.append(...names.map((name) => new Option(name, `${label}/${name}`)));
      return made;
    };
    by('source').append(
      group('stories', STORIES.map(({ title }) => title)),
      group('scenarios', this.scenarios.map(({ name }) => name)),
    );
  }

  private listen(): void {
    const click = (id: string, act: () => void) => by(id).addEventListener('click', act);
    by('source').addEventListener('change', () => this.choose());
    click('play', () => this.toggle());
    click('step', () => void this.jump(this.wanted.time + 0.1));
    click('cell', () => void this.nextCell());
    click('run', () => void this.load(fresh(this.editor.text, this.wanted.speed, this.wanted.origin)));
    click('share', () => void this.share());
    click('save', () => this.save());
    click('theme', () => {
      switchTheme();
      this.resize();
    });
    click('hash', () => void this.hash());
    by('time').addEventListener('input', ({ target }) => {
      void this.jump(Number((target as HTMLInputElement).value) * (this.comparison?.network.end ?? 0));
    });
    by('speed').addEventListener('input', ({ target }) => {
      this.setSpeed(10 ** Number((target as HTMLInputElement).value));
    });
    window.addEventListener('resize', () => this.resize());
    // Another link was opened in this tab.
    window.addEventListener('hashchange', ({ oldURL }) => {
      if (this.mayDrop()) location.reload();
      else history.replaceState(null, '', oldURL);
    });
    onTheme(() => this.resize());
    onKeys({
      ' ': () => this.toggle(),
      '.': () => void this.nextCell(),
      ArrowRight: () => void this.jump(this.wanted.time + 0.1),
      ArrowLeft: () => void this.jump(this.wanted.time - 0.1),
    });
  }

  /** Whether the text in the editor may go: it was run, or the user says so. */
  private mayDrop(): boolean {
    return !this.editor.changed || confirm('The scenario in the editor was changed and not run. Drop the change?');
  }

  /** Shows what was chosen from the list, unless the user would rather keep a text that was not run. */
  private choose(): void {
    const { value } = by<HTMLSelectElement>('source');
    const name = value.slice(value.indexOf('/') + 1);
    if (!this.mayDrop()) {
      this.name();
    } else if (value === 'changed') {
      void this.load({ ...this.shown });
    } else if (value.startsWith('stories/')) {
      void this.tell(STORIES.find(({ title }) => title === name)!);
    } else {
      const { text } = this.scenarios.find((it) => it.name === name)!;
      void this.load(fresh(text, this.wanted.speed, { value, text }));
    }
  }

  private tell(story: Story): Promise<boolean> {
    const origin = { value: `stories/${story.title}`, text: story.text };
    return this.load({ ...fresh(story.text, story.speed, origin), story });
  }

  /** Makes the runs of a wish; false if its scenario is not valid, and then what was shown stays, or if another one is wanted by then. */
  private async load(wish: Wish): Promise<boolean> {
    // Runs that are not made by now may be too large: the user wants others.
    if (this.simulator.busyFor() > PATIENCE) this.beginAnew();
    this.wanted = wish;
    this.editor.set(wish.text);
    this.editor.runs(wish.text);
    this.drawControls();
    const loaded = await this.busy(this.guarded(() => this.make(wish.text)));
    if (wish !== this.wanted) {
      this.passedOver ||= loaded !== undefined;
      return false;
    }
    if (loaded === undefined) {
      await this.stay();
      return false;
    }
    this.passedOver = true;
    const { network, knobs } = loaded;
    const there = (transport: number) => transport < network.transports.length;
    if (!wish.transports.every(there)) wish.transports = [0, 1].filter(there);
    wish.time = Math.min(wish.time, network.end);
    wish.knobs = keepRanges(knobs, wish.knobs);
    const { time } = wish;
    const seen = await this.busy(this.tried(() => this.runTo(wish)));
    if (wish !== this.wanted) return false;
    if (seen === undefined) {
      await this.stay();
      return false;
    }
    this.begin(wish, network, seen);
    // The user may have gone to another time meanwhile.
    if (wish.time !== time) await this.jump(wish.time);
    return wish === this.wanted;
  }

  private async make(text: string): Promise<{ network: Network; knobs: Knob[] }> {
    if (this.simulator.failed) this.beginAnew();
    await this.simulator.ready;
    return this.simulator.load(text);
  }

  /** Lets runs that were just made go on to the time of a wish. */
  private async runTo({ transports, time }: Wish): Promise<Seen[]> {
    const { steps } = await this.simulator.go(transports, time);
    const seen: Seen[] = [];
    for (const step of steps) seen[step.transport] = after(seen[step.transport], step);
    return seen;
  }

  /** Shows the runs that were made for a wish. */
  private begin(wish: Wish, network: Network, seen: Seen[]): void {
    this.shown = wish;
    this.passedOver = false;
    this.seen = seen;
    wish.choice = within(network, wish.choice);
    this.comparison?.close();
    this.comparison = new Comparison(network, wish.transports, {
      compare: (transports) => void this.compare(transports),
      choose: (choice) => {
        this.wanted.choice = choice;
        this.draw();
        this.drawCharts();
      },
      resized: () => this.draw(),
    });
    by('caption').textContent = network.about;
    by('results').textContent = '';
    this.name();
    this.drawKnobs();
    this.drawControls();
    this.draw();
    this.drawCharts();
  }

  /** Names in the list what is shown; what the user changed can be chosen anew as it was. */
  private name(): void {
    const list = by<HTMLSelectElement>('source');
    list.querySelector('[value=changed]')?.remove();
    const { text, origin } = this.shown;
    if (text === origin.text) {
      list.value = origin.value;
    } else {
      const name = origin.value.slice(origin.value.indexOf('/') + 1);
      list.prepend(new Option(name === '' ? 'a scenario of your own' : `changed: ${name}`, 'changed'));
      list.value = 'changed';
    }
  }

  /** Says that the simulator works, where that takes long enough to be noticed. */
  private async busy<T>(work: Promise<T>): Promise<T> {
    const said = setTimeout(() => (by('busy').textContent = 'computing'), 300);
    try {
      return await work;
    } finally {
      clearTimeout(said);
      by('busy').textContent = '';
    }
  }

  /** Knobs of the network and of the transports that are shown. */
  private drawKnobs(): void {
    const { comparison } = this;
    if (comparison === undefined) return;
    const all = comparison.network.transports.map((label) => label.split('/')[0]!);
    const shown = comparison.transports.map((transport) => all[transport]!);
    const knobs = this.shown.knobs.filter(({ group }) => !all.includes(group) || shown.includes(group));
    drawKnobs(by('knobs'), knobs, (knob, value) => void this.turn(knob, value));
  }

  /** A simulator that has made nothing yet, in place of one that is busy or has failed. */
  private beginAnew(): void {
    this.simulator.begin();
    this.asking = false;
    this.jumping = false;
    this.passedOver = true;
    this.edits = Promise.resolve();
    by('results').textContent = '';
  }

  /** What was shown stays: the simulator gets it back if it has made other runs since. */
  private async stay(): Promise<void> {
    const { wanted, shown, comparison } = this;
    if ((this.passedOver || this.simulator.failed) && comparison !== undefined) {
      const again = async () => {
        await this.make(shown.text);
        return wanted === this.wanted ? this.runTo(shown) : undefined;
      };
      const seen = await this.busy(this.tried(again));
      if (wanted !== this.wanted) return;
      if (seen !== undefined) this.seen = seen;
      else shown.playing = false;
    }
    this.passedOver = false;
    this.wanted = shown;
    this.editor.runs(shown.text);
    this.drawControls();
    if (comparison === undefined) return;
    this.name();
    comparison.show(shown.transports);
    await this.jump(shown.time);
  }

  /** Puts transports beside each other. */
  private async compare(transports: number[]): Promise<void> {
    const { comparison, seen, wanted } = this;
    if (comparison === undefined) return;
    // The numbers are those of the scenario that is shown, and the simulator has another one.
    if (this.loading) return comparison.rename();
    wanted.transports = transports;
    const went = await this.busy(this.tried(() => this.simulator.go(transports, wanted.time)));
    for (const step of went?.steps ?? []) seen[step.transport] = after(seen[step.transport], step);
    if (wanted !== this.wanted || wanted.transports !== transports) return;
    if (went === undefined) {
      wanted.transports = [...comparison.transports];
      return comparison.rename();
    }
    comparison.show(transports);
    this.drawKnobs();
    this.draw();
    this.drawCharts();
    // The user may have gone to another time meanwhile.
    await this.jump(wanted.time);
  }

  private readonly frame = (now: number): void => {
    const passed = Math.min(0.1, (now - this.lastFrame) / 1e3);
    this.lastFrame = now;
    const { wanted, comparison } = this;
    if (wanted.playing && !this.loading && !this.jumping && comparison !== undefined) {
      const { end } = comparison.network;
      const reached = Math.min(...this.views().map((view) => view.now));
      // What is shown runs ahead of the simulator by a frame or two, not more.
      const ahead = reached + Math.max(0.02, 0.05 * wanted.speed);
      wanted.time = Math.min(wanted.time + passed * wanted.speed, ahead, end);
      if (wanted.time >= end) {
        this.play(false);
        // A question that is under way may be about a time before the end.
        void this.jump(end);
      } else if (!this.asking) {
        void this.run(wanted.time);
      }
      this.draw();
      if (now - this.lastCharts > CHARTS_EVERY) {
        this.lastCharts = now;
        this.drawCharts();
      }
    }
    requestAnimationFrame(this.frame);
  };

  /** What is seen of the transports that are shown. */
  private views(): View[] {
    return (this.comparison?.transports ?? []).map((transport) => this.seen[transport]!.view);
  }

  /** Lets the runs go on, or back, to a time; false if they cannot. */
  private async run(time: number): Promise<boolean> {
    const { comparison, seen } = this;
    if (comparison === undefined) return true;
    this.asking = true;
    try {
      const went = await this.tried(() => this.simulator.go([...comparison.transports], time));
      for (const step of went?.steps ?? []) seen[step.transport] = after(seen[step.transport], step);
      return went !== undefined;
    } finally {
      this.asking = false;
    }
  }

  /** Shows another time, earlier or later; false if the runs cannot go there. */
  private async jump(time: number): Promise<boolean> {
    const { comparison } = this;
    this.wanted.time = Math.max(0, time);
    // Runs that are being made go to this time.
    if (this.loading || comparison === undefined) return true;
    this.wanted.time = Math.min(comparison.network.end, this.wanted.time);
    if (this.jumping) return true;
    this.jumping = true;
    let reached;
    try {
      reached = await this.busy(this.reach());
    } finally {
      this.jumping = false;
    }
    this.draw();
    this.drawCharts();
    return reached;
  }

  /** Lets the runs follow to the time and the transports that the user chose, and to those chosen meanwhile; false if they cannot. */
  private async reach(): Promise<boolean> {
    let time, transports;
    do {
      ({ time } = this.wanted);
      transports = this.comparison?.transports;
      if (!(await this.run(time))) return false;
    } while ((time !== this.wanted.time || transports !== this.comparison?.transports) && !this.loading);
    return true;
  }

  /** Goes on until any machine sends a cell with data that nobody has sent before. */
  private async nextCell(): Promise<void> {
    this.play(false);
    const { wanted } = this;
    const departed = () =>
      this.views().flatMap(({ users }) => users.flatMap(({ hops }) => hops.map((hop) => hop[4])));
    const before = departed().reduce((a, b) => a + b, 0);
    const end = this.comparison?.network.end ?? 0;
    for (let tries = 0; tries < 400 && wanted.time < end && !this.loading; tries += 1) {
      const next = Math.min(end, wanted.time + 0.0005);
      if (!(await this.jump(next))) return;
      // The user may have gone to another time meanwhile.
      if (wanted.time !== next || departed().reduce((a, b) => a + b, 0) > before) return;
    }
  }

  private draw(): void {
    const { comparison, shown, wanted } = this;
    if (comparison === undefined) return;
    comparison.draw((transport) => this.seen[transport]!, shown.time, shown.choice);
    by('clock').textContent = clock(wanted.time, wanted.playing && wanted.speed >= 0.2 ? 2 : 4);
    by<HTMLInputElement>('time').value = String(wanted.time / comparison.network.end);
    if (shown.story !== undefined) {
      const text = caption(shown.story, shown.time);
      if (by('caption').textContent !== text) by('caption').textContent = text;
    }
  }

  private drawCharts(): void {
    this.comparison?.drawCharts((transport) => this.seen[transport]!.history);
  }

  /** Says whether it is played, and how fast. */
  private drawControls(): void {
    const { playing, speed: factor } = this.wanted;
    by('play').textContent = playing ? 'pause' : 'play';
    by<HTMLInputElement>('speed').value = String(Math.log10(factor));
    by('factor').textContent = speed(factor);
  }

  private play(playing: boolean): void {
    const { wanted, comparison } = this;
    wanted.playing = playing && (this.loading || wanted.time < (comparison?.network.end ?? 0));
    this.drawControls();
  }

  private toggle(): void {
    this.play(!this.wanted.playing);
    // The runs stop at the time that is shown, not a frame before it.
    if (!this.wanted.playing) void this.jump(this.wanted.time);
  }

  private setSpeed(factor: number): void {
    this.wanted.speed = factor;
    this.drawControls();
  }

  /** Runs again with another value; with the same time, transports and circuit the effect can be seen at once. */
  private async turn(knob: Knob, value: string): Promise<void> {
    const edit = await this.edited(knob, value);
    if (edit !== undefined && (await this.load({ ...this.wanted, text: edit.after }))) return;
    if (this.loading) return;
    // What was refused is said; the text and the knobs stay.
    if (this.editor.text === edit?.after) this.editor.set(edit.before);
    this.drawKnobs();
  }

  /** The editor's text before and after it got another value; nothing if the value is refused, or the text was changed meanwhile. */
  private edited(knob: Knob, value: string): Promise<{ before: string; after: string } | undefined> {
    if (this.simulator.failed) this.beginAnew();
    const edit = this.edits.then(async () => {
      const before = this.editor.text;
      const after = await this.guarded(async () => {
        await this.simulator.ready;
        return this.simulator.set(before, knob.path, value);
      });
      if (after === undefined || this.editor.text !== before) return undefined;
      this.editor.set(after);
      return { before, after };
    });
    this.edits = edit;
    return edit;
  }

  private async share(): Promise<void> {
    this.play(false);
    await this.jump(this.wanted.time);
    history.replaceState(null, '', `#${await writeLink(this.shown)}`);
    // Browsers have no clipboard for pages that came over plain HTTP, and may refuse it.
    const copied = await navigator.clipboard?.writeText(location.href).then(() => true, () => false);
    by('share').textContent = copied ? 'link copied' : 'link is in the address bar';
    setTimeout(() => (by('share').textContent = 'share'), 1500);
  }

  /** Saves the text of the editor, run or not. */
  private save(): void {
    const link = document.createElement('a');
    link.href = URL.createObjectURL(new Blob([this.editor.text], { type: 'application/toml' }));
    link.download = `${this.comparison?.network.name ?? 'scenario'}.toml`;
    link.click();
    URL.revokeObjectURL(link.href);
  }

  private async hash(): Promise<void> {
    const { comparison, wanted } = this;
    if (comparison === undefined || this.loading) return;
    this.play(false);
    by('results').textContent = 'running to the end';
    const { transports, seed } = comparison.network;
    const lines = [];
    for (const transport of [...comparison.transports]) {
      const hash = await this.tried(() => this.simulator.results(transport));
      if (wanted !== this.wanted || hash === undefined) break;
      lines.push(`${transports[transport]} seed ${seed}: ${hash}`);
    }
    if (comparison === this.comparison) by('results').textContent = lines.join('\n');
  }

  private resize(): void {
    this.comparison?.resize();
    this.draw();
    this.drawCharts();
  }

  /** What the runs give, unless they fail: then they pause, and the user learns why, if nothing else is wanted by then. */
  private async tried<T>(ask: () => Promise<T>): Promise<T | undefined> {
    const { wanted } = this;
    try {
      return await ask();
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      if (wanted !== this.wanted) return undefined;
      this.play(false);
      this.refuse(error.problem);
      return undefined;
    }
  }

  /** What a step of the simulator gives, unless it refuses: then the user learns why. */
  private async guarded<T>(ask: () => Promise<T>): Promise<T | undefined> {
    try {
      const answer = await ask();
      by('problem').hidden = true;
      this.editor.mark(null);
      return answer;
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      this.refuse(error.problem);
      return undefined;
    }
  }

  private refuse({ line, message }: Problem): void {
    const problem = by('problem');
    problem.hidden = false;
    problem.textContent = message;
    by<HTMLDetailsElement>('editor').open = true;
    this.editor.mark(line);
  }
}

await new Page().start();
