/** The scenario's text, with its lines numbered and a wrong one marked. */
export class Editor {
  private wrong: number | null = null;
  /** The text that is shown, or whose runs are being made. */
  private run = '';

  constructor(
    private readonly area: HTMLTextAreaElement,
    private readonly lines: HTMLElement,
    /** Says that the text was changed. */
    private readonly draft: HTMLElement,
  ) {
    area.addEventListener('input', () => {
      this.number();
      this.compare();
    });
    area.addEventListener('scroll', () => (lines.scrollTop = area.scrollTop));
  }

  get text(): string {
    return this.area.value;
  }

  /** Whether the text was changed and the change was not run. */
  get changed(): boolean {
    return this.area.value !== this.run;
  }

  set(text: string): void {
    if (this.area.value !== text) this.area.value = text;
    this.mark(null);
    this.compare();
  }

  /** Says what is run; another text counts as changed. */
  runs(text: string): void {
    this.run = text;
    this.compare();
  }

  private compare(): void {
    this.draft.hidden = !this.changed;
  }

  mark(line: number | null): void {
    this.wrong = line;
    this.number();
    const wrong = this.lines.querySelector<HTMLElement>('.wrong');
    if (wrong !== null) {
      this.area.scrollTop = wrong.offsetTop - this.area.clientHeight / 2;
      this.lines.scrollTop = this.area.scrollTop;
    }
  }

  private number(): void {
    const count = this.area.value.split('\n').length;
    const numbers = Array.from({ length: count }, (_, index) => {
      const line = document.createElement('span');
      line.textContent = `${index + 1}\n`;
      if (index + 1 === this.wrong) line.className = 'wrong';
      return line;
    });
    this.lines.replaceChildren(...numbers);
    this.lines.scrollTop = this.area.scrollTop;
  }
}
