/** The time that is shown: played, chosen, or the newest that there is. */

import { onKeys } from './keys.ts';
import { clock, speed } from './text.ts';

const by = <T extends HTMLElement>(id: string) => document.getElementById(id) as T;

/** Seconds of play that a frame may bring at most. */
const LONGEST = 0.1;

export class Timeline {
  /** The first time that can be shown. */
  from = 0;
  /** The newest time that can be shown. */
  reached = 0;
  /** Where the slider ends; what is not reached yet cannot be chosen. */
  end = 0;
  /** Whether nothing newer comes. */
  done = false;
  time = 0;
  factor = 1;
  /** Whether it stays with the newest. */
  following = true;
  private playing = false;
  private last = 0;

  constructor(
    /** Seconds that a key or button goes on or back. */
    private readonly stride: number,
    private readonly changed: () => void,
  ) {
    const controls = new AbortController();
    this.close = () => controls.abort();
    const { signal } = controls;
    const click = (id: string, act: () => void) => by(id).addEventListener('click', act, { signal });
    click('play', () => this.toggle());
    click('back', () => this.jump(this.time - this.stride));
    click('step', () => this.jump(this.time + this.stride));
    click('latest', () => this.follow());
    const value = ({ target }: Event) => Number((target as HTMLInputElement).value);
    by('time').addEventListener('input', (event) => this.jump(this.from + value(event) * (this.end - this.from)), { signal });
    by('speed').addEventListener('input', (event) => this.setSpeed(10 ** value(event)), { signal });
    onKeys({
      ' ': () => this.toggle(),
      ArrowRight: () => this.jump(this.time + this.stride),
      ArrowLeft: () => this.jump(this.time - this.stride),
      Home: () => this.jump(this.from),
      End: () => this.follow(),
    }, signal);
    this.setSpeed(1);
  }

  /** Hears no controls any more. */
  readonly close: () => void;

  /** Plays from a time on. */
  play(time = this.time): void {
    this.following = false;
    this.playing = true;
    this.jumpTo(time);
  }

  /** Goes to the newest time and stays there. */
  follow(): void {
    this.following = !this.done;
    this.playing = false;
    this.jumpTo(this.reached);
  }

  /** Goes to a time and stays there. */
  jump(time: number): void {
    this.following = false;
    this.playing = false;
    this.jumpTo(time);
  }

  /** Lets time pass to that of a frame. */
  pass(now: number): void {
    const passed = Math.min(LONGEST, (now - this.last) / 1e3);
    this.last = now;
    if (this.following) {
      if (this.done) this.following = false;
      if (this.time !== this.reached || this.done) this.jumpTo(this.reached);
    } else if (this.playing) {
      const next = this.time + passed * this.factor;
      if (next < this.reached) this.jumpTo(next);
      else this.follow();
    }
  }

  setSpeed(factor: number): void {
    this.factor = factor;
    by<HTMLInputElement>('speed').value = String(Math.log10(factor));
    by('factor').textContent = speed(factor);
  }

  /** Shows where time is. */
  draw(): void {
    const running = this.playing || this.following;
    by('play').textContent = running ? 'pause' : 'play';
    by('latest').setAttribute('aria-pressed', String(this.following));
    by<HTMLButtonElement>('latest').disabled = this.done && this.time >= this.reached;
    by('clock').textContent = clock(this.time, 2);
    by<HTMLInputElement>('time').value = String((this.time - this.from) / Math.max(1e-9, this.end - this.from));
  }

  private toggle(): void {
    if (this.playing || this.following) this.jump(this.time);
    else if (this.time < this.reached) this.play();
    else if (this.done) this.play(this.from);
    else this.follow();
  }

  private jumpTo(time: number): void {
    this.time = Math.min(this.reached, Math.max(this.from, time));
    this.changed();
  }
}
