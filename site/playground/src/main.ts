/** The page: what is shown, and what the user does with it. */

import { makeArm, type Arm } from './arm.ts';
import { Charts } from './charts.ts';
import { Editor } from './editor.ts';
import { onKeys } from './keys.ts';
import { drawKnobs, keepRanges } from './knobs.ts';
import { readLink, writeLink } from './link.ts';
import { wantsMotion } from './motion.ts';
import { Refused, Simulator } from './simulator.ts';
import { chosenUser, type Choice } from './stage.ts';
import { caption, STORIES, type Story } from './stories.ts';
import { seconds, speed } from './text.ts';
import { onTheme, switchTheme } from './theme.ts';
import type { Builtin, Knob, Network, Problem, Step, View } from './wire.ts';

/** Charts follow so often, in milliseconds. */
const CHARTS_EVERY = 250;

/** Another scenario does not wait longer, in milliseconds, for what the simulator does. */
const PATIENCE = 2000;

const by = <T extends HTMLElement>(id: string) => document.getElementById(id) as T;

class Page {
  private readonly simulator = new Simulator();
  private readonly editor = new Editor(by('toml'), by('lines'));
  private scenarios: Builtin[] = [];
  private story: Story | undefined;
  private network!: Network;
  private arms: Arm[] = [];
  private charts: Charts | undefined;
  private chosen: Choice = { user: 0 };
  private playing = false;
  private factor = 1;
  /** The time that is shown. */
  private time = 0;
  private asking = false;
  /** Whether the runs are on their way to a time that the user chose. */
  private jumping = false;
  private lastFrame = 0;
  private lastCharts = 0;
  /** The text whose runs are shown. */
  private text = '';
  /** The text whose runs are wanted: that of those shown, or of those being made. */
  private wanted = '';
  /** The last change of a knob, until it is in the text that is wanted. */
  private edits: Promise<unknown> = Promise.resolve();
  private knobs: Knob[] = [];
  /** What was chosen from the list, as it is there. */
  private origin = { value: '', text: '' };
  /** Counts scenarios that were asked for: an answer to an earlier one comes too late. */
  private asked = 0;
  /** Whether runs are being made; until then nothing is asked of those that are shown. */
  private loading = false;
  /** Whether the simulator has made runs that were not shown, since others were asked for. */
  private passedOver = false;

  async start(): Promise<void> {
    const asked = new URLSearchParams(location.hash.slice(1));
    this.scenarios = await this.simulator.ready;
    this.fillSources();
    this.listen();
    // Where there is little room, knobs open when they are asked for.
    if (matchMedia('(max-width: 900px)').matches) by<HTMLDetailsElement>('turn').open = false;
    await this.begin(asked);
    requestAnimationFrame(this.frame);
    document.body.dataset['ready'] = 'true';
  }

  /** Shows what the address asks for; if that cannot be, a story, and why. */
  private async begin(asked: URLSearchParams): Promise<void> {
    const name = asked.get('story');
    const story = STORIES.find((it) => it.name === name);
    const names = STORIES.map((it) => it.name).join(', ');
    let problem = name === null || story !== undefined ? undefined : `There is no story ${name}. There are: ${names}.`;
    const link = await readLink(asked).catch(() => {
      problem = 'The link is damaged: its scenario cannot be read. Was all of it copied?';
      return undefined;
    });
    if (link !== undefined) {
      if (await this.load(link.text)) {
        this.setSpeed(link.speed);
        return this.jump(link.time);
      }
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
    by<HTMLSelectElement>('source').addEventListener('change', ({ target }) => {
      const [kind, name] = (target as HTMLSelectElement).value.split('/');
      const story = STORIES.find(({ title }) => title === name);
      if (kind === 'stories' && story) void this.tell(story);
      else void this.open(this.scenarios.find((it) => it.name === name)!);
    });
    click('play', () => this.toggle());
    click('step', () => void this.jump(this.time + 0.1));
    click('cell', () => void this.nextCell());
    click('run', () => void this.show(this.editor.text));
    click('share', () => void this.share());
    click('save', () => this.save());
    click('theme', () => {
      switchTheme();
      this.resize();
    });
    click('hash', () => void this.hash());
    by('time').addEventListener('input', ({ target }) => {
      void this.jump(Number((target as HTMLInputElement).value) * this.network.end);
    });
    by('speed').addEventListener('input', ({ target }) => {
      this.setSpeed(10 ** Number((target as HTMLInputElement).value));
    });
    window.addEventListener('resize', () => this.resize());
    // Another link was opened in this tab.
    window.addEventListener('hashchange', () => location.reload());
    onTheme(() => this.resize());
    onKeys({
      ' ': () => this.toggle(),
      '.': () => void this.nextCell(),
      ArrowRight: () => void this.jump(this.time + 0.1),
      ArrowLeft: () => void this.jump(this.time - 0.1),
    });
  }

  private async tell(story: Story): Promise<void> {
    this.origin = { value: `stories/${story.title}`, text: story.text };
    if (!(await this.load(story.text, story))) return;
    this.setSpeed(story.speed);
    this.play(wantsMotion());
  }

  /** Shows a scenario of the list. */
  private async open({ name, text }: Builtin): Promise<void> {
    this.origin = { value: `scenarios/${name}`, text };
    await this.show(text);
  }

  /** Shows a scenario from its beginning, and plays it unless the user wants no motion. */
  private async show(text: string): Promise<void> {
    if (await this.load(text)) this.play(wantsMotion());
  }

  /** Makes the runs of a scenario; false if it is not valid, and then what was shown stays. */
  private async load(text: string, story?: Story, shown = [0, 1], ranges: Knob[] = []): Promise<boolean> {
    const asked = (this.asked += 1);
    // Runs that are not made by now may be too large: the user wants others.
    if (this.simulator.busyFor() > PATIENCE) this.beginAnew();
    this.loading = true;
    this.wanted = text;
    this.editor.set(text);
    const loaded = await this.busy(this.guarded(() => this.make(text)));
    if (asked !== this.asked) {
      this.passedOver ||= loaded !== undefined;
      return false;
    }
    if (loaded === undefined) {
      await this.stay();
      return false;
    }
    this.loading = false;
    this.passedOver = false;
    this.play(false);
    this.arms = [];
    this.text = text;
    this.name();
    this.story = story;
    this.network = loaded.network;
    this.time = 0;
    this.chosen = { user: 0 };
    this.knobs = keepRanges(loaded.knobs, ranges);
    by('caption').textContent = this.network.about;
    by('results').textContent = '';
    const { transports } = this.network;
    await this.busy(this.compare(shown.filter((transport) => transport < transports.length)));
    return asked === this.asked;
  }

  /** Names in the list what is shown; what the user changed can be chosen anew as it was. */
  private name(): void {
    const list = by<HTMLSelectElement>('source');
    list.querySelector('[value=changed]')?.remove();
    const { value, text } = this.origin;
    if (text === this.text) {
      list.value = value;
    } else {
      const own = new Option(value === '' ? 'a scenario of your own' : `changed: ${value.split('/')[1]}`, 'changed');
      list.prepend(own);
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
    const bare = (label: string) => label.split('/')[0]!;
    const all = this.network.transports.map(bare);
    const shown = this.arms.map(({ transport }) => all[transport]!);
    const knobs = this.knobs.filter(({ group }) => !all.includes(group) || shown.includes(group));
    drawKnobs(by('knobs'), knobs, (knob, value) => void this.turn(knob, value));
  }

  private async make(text: string): Promise<{ network: Network; knobs: Knob[] }> {
    await this.simulator.ready;
    return this.simulator.load(text);
  }

  /** A simulator that has made nothing yet, in place of one that is busy. */
  private beginAnew(): void {
    this.simulator.begin();
    this.asking = false;
    this.jumping = false;
    this.loading = false;
    this.passedOver = true;
    this.edits = Promise.resolve();
  }

  /** What was shown stays: the simulator gets it back if it has made other runs since. */
  private async stay(): Promise<void> {
    this.wanted = this.text;
    if (this.passedOver && this.text !== '') await this.make(this.text);
    this.passedOver = false;
    this.loading = false;
    if (this.arms.length > 0) await this.jump(this.time);
  }

  /** Puts transports beside each other. */
  private async compare(transports: number[]): Promise<void> {
    const { time, network } = this;
    const { steps } = await this.simulator.go(transports, time);
    if (this.loading || network !== this.network) return;
    this.arms = steps.map(({ transport, view }, place) => this.makeArm(transport, view, place));
    by('arms').replaceChildren(...this.arms.map(({ box }) => box));
    this.arms.forEach((arm) => arm.measure());
    const labels = transports.map((transport) => this.network.transports[transport]!);
    this.charts?.close();
    this.charts = new Charts(by('charts'), this.network, labels);
    this.drawKnobs();
    this.draw();
    // The user may have gone to another time meanwhile.
    if (this.time !== time) await this.jump(this.time);
  }

  private makeArm(transport: number, view: View, place: number): Arm {
    return makeArm(this.network, transport, view, {
      compare: (other) => {
        const shown = this.arms.map((arm) => arm.transport);
        shown[place] = other;
        void this.compare(shown);
      },
      choose: (choice) => {
        this.chosen = choice;
        this.draw();
        this.drawCharts();
      },
      resized: () => this.draw(),
    });
  }

  private readonly frame = (now: number): void => {
    const passed = Math.min(0.1, (now - this.lastFrame) / 1e3);
    this.lastFrame = now;
    if (this.playing && !this.loading && !this.jumping && this.arms.length > 0) {
      const reached = Math.min(...this.arms.map(({ view }) => view.now));
      // What is shown runs ahead of the simulator by a frame or two, not more.
      const ahead = reached + Math.max(0.02, 0.05 * this.factor);
      this.time = Math.min(this.time + passed * this.factor, ahead, this.network.end);
      if (!this.asking) void this.follow(this.time);
      if (this.time >= this.network.end) this.play(false);
      this.draw();
      if (now - this.lastCharts > CHARTS_EVERY) {
        this.lastCharts = now;
        this.drawCharts();
      }
    }
    requestAnimationFrame(this.frame);
  };

  /** Lets the runs follow to a time. */
  private async follow(time: number): Promise<void> {
    this.asking = true;
    const arms = this.arms;
    try {
      const { steps } = await this.simulator.go(arms.map(({ transport }) => transport), time);
      steps.forEach((step, number) => take(arms[number]!, step));
    } finally {
      this.asking = false;
    }
  }

  /** Shows another time, earlier or later. */
  private async jump(time: number): Promise<void> {
    this.time = Math.min(this.network.end, Math.max(0, time));
    if (this.loading || this.jumping || this.arms.length === 0) return;
    this.jumping = true;
    try {
      await this.busy(this.reach());
    } finally {
      this.jumping = false;
    }
    this.draw();
    this.drawCharts();
  }

  /** Lets the runs follow to the time that the user chose, and to that chosen meanwhile. */
  private async reach(): Promise<void> {
    let reached;
    do {
      reached = this.time;
      await this.follow(reached);
    } while (reached !== this.time && !this.loading && this.arms.length > 0);
  }

  /** Goes on until any machine sends a cell with data that nobody has sent before. */
  private async nextCell(): Promise<void> {
    this.play(false);
    const departed = () =>
      this.arms.flatMap(({ view }) => view.users.flatMap(({ hops }) => hops.map((hop) => hop[4])));
    const before = departed().reduce((a, b) => a + b, 0);
    for (let tries = 0; tries < 400 && this.time < this.network.end; tries += 1) {
      const next = Math.min(this.network.end, this.time + 0.0005);
      await this.jump(next);
      // The user may have gone to another time meanwhile.
      if (this.time !== next || departed().reduce((a, b) => a + b, 0) > before) return;
    }
  }

  private draw(): void {
    for (const arm of this.arms) arm.draw(Math.max(arm.view.now, this.time), this.chosen);
    by('clock').textContent = seconds(Number(this.time.toFixed(this.factor < 0.2 ? 4 : 2)));
    by<HTMLInputElement>('time').value = String(this.time / this.network.end);
    if (this.story !== undefined) {
      const text = caption(this.story, this.time);
      if (by('caption').textContent !== text) by('caption').textContent = text;
    }
  }

  private drawCharts(): void {
    this.charts?.update(this.arms.map(({ history }) => history), chosenUser(this.network, this.chosen));
  }

  private play(playing: boolean): void {
    this.playing = playing && this.time < this.network.end;
    by('play').textContent = this.playing ? 'pause' : 'play';
  }

  private toggle(): void {
    this.play(!this.playing);
    // The runs stop at the time that is shown, not a frame before it.
    if (!this.playing) void this.jump(this.time);
  }

  private setSpeed(factor: number): void {
    this.factor = factor;
    by<HTMLInputElement>('speed').value = String(Math.log10(factor));
    by('factor').textContent = speed(factor);
  }

  /** Runs again with another value. */
  private async turn(knob: Knob, value: string): Promise<void> {
    const text = await this.edited(knob, value);
    const { time, story, playing, chosen, knobs } = this;
    const shown = this.arms.map(({ transport }) => transport);
    if (text === undefined || !(await this.load(text, story, shown, knobs))) {
      if (this.loading) return;
      // What was refused is said; the scenario and its knobs stay.
      this.editor.set(this.text);
      this.drawKnobs();
      return;
    }
    this.chosen = 'user' in chosen && chosen.user < this.network.users.length ? chosen : { user: 0 };
    // With the same time the effect can be seen at once.
    await this.jump(Math.min(time, this.network.end));
    this.play(playing);
  }

  /** The scenario that is wanted with another value; nothing if the value is refused, or another scenario was chosen meanwhile. */
  private edited(knob: Knob, value: string): Promise<string | undefined> {
    const edit = this.edits.then(async () => {
      const before = this.wanted;
      const text = await this.guarded(() => this.simulator.set(before, knob.path, value));
      if (text === undefined || this.wanted !== before) return undefined;
      this.wanted = text;
      return text;
    });
    this.edits = edit;
    return edit;
  }

  private async share(): Promise<void> {
    this.play(false);
    await this.jump(this.time);
    const link = await writeLink({ text: this.text, time: this.time, speed: this.factor });
    history.replaceState(null, '', `#${link}`);
    // Browsers have no clipboard for pages that came over plain HTTP, and may refuse it.
    const copied = await navigator.clipboard?.writeText(location.href).then(() => true, () => false);
    by('share').textContent = copied ? 'link copied' : 'link is in the address bar';
    setTimeout(() => (by('share').textContent = 'share'), 1500);
  }

  private save(): void {
    const link = document.createElement('a');
    link.href = URL.createObjectURL(new Blob([this.text], { type: 'application/toml' }));
    link.download = `${this.network.name}.toml`;
    link.click();
    URL.revokeObjectURL(link.href);
  }

  private async hash(): Promise<void> {
    this.play(false);
    by('results').textContent = 'running to the end';
    const lines = [];
    const { arms } = this;
    for (const { transport } of arms) {
      const hash = await this.simulator.results(transport);
      if (arms !== this.arms) return;
      lines.push(`${this.network.transports[transport]} seed ${this.network.seed}: ${hash}`);
    }
    by('results').textContent = lines.join('\n');
  }

  private resize(): void {
    this.arms.forEach((arm) => arm.measure());
    this.charts?.build();
    this.draw();
    this.drawCharts();
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

/** Takes over what a run shows after a step, forward or back. */
function take(arm: Arm, { view, samples, downloads }: Step): void {
  const { history } = arm;
  if (view.now < arm.view.now) {
    history.samples = history.samples.filter(({ at }) => at <= view.now);
    history.downloads = history.downloads.filter(([, at, , ttlb]) => at + ttlb <= view.now);
  }
  arm.view = view;
  history.samples.push(...samples);
  history.downloads.push(...downloads);
}

await new Page().start();
