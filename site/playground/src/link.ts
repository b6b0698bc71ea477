/** What is shown, as the part of an address behind the `#`. */

export interface Shown {
  text: string;
  time: number;
  speed: number;
}

/** Deflated and in base64url, so that a scenario fits a link. */
export async function writeLink({ text, time, speed }: Shown): Promise<string> {
  const packed = new Blob([text]).stream().pipeThrough(new CompressionStream('deflate-raw'));
  const bytes = new Uint8Array(await new Response(packed).arrayBuffer());
  const letters = btoa(String.fromCharCode(...bytes));
  const scenario = letters.replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '');
  return new URLSearchParams({ t: String(time), speed: String(speed), scenario }).toString();
}

/** The state that a link has, if it has one. */
export async function readLink(parts: URLSearchParams): Promise<Shown | undefined> {
  const scenario = parts.get('scenario');
  if (scenario === null) return undefined;
  const letters = atob(scenario.replaceAll('-', '+').replaceAll('_', '/'));
  const bytes = Uint8Array.from(letters, (letter) => letter.charCodeAt(0));
  const text = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('deflate-raw'));
  return {
    text: await new Response(text).text(),
    time: Number(parts.get('t') ?? 0),
    speed: Number(parts.get('speed') ?? 1),
  };
}
