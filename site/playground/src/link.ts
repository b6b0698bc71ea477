/** What is shown, as the part of an address behind the `#`. */

export interface Linked {
  text: string;
  time: number;
  speed: number;
}

/** Speeds that the slider has. */
const SLOWEST = 0.01;
const FASTEST = 100;

/** Deflated and in base64url, so that a scenario fits a link. */
export async function writeLink({ text, time, speed }: Linked): Promise<string> {
  const packed = new Blob([text]).stream().pipeThrough(new CompressionStream('deflate-raw'));
  const bytes = new Uint8Array(await new Response(packed).arrayBuffer());
  const letters = btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(''));
  const scenario = letters.replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '');
  return new URLSearchParams({ t: String(time), speed: String(speed), scenario }).toString();
}

/** The state that a link has, if it has one; fails if its scenario is damaged. */
export async function readLink(parts: URLSearchParams): Promise<Linked | undefined> {
  const scenario = parts.get('scenario');
  if (scenario === null) return undefined;
  const letters = atob(scenario.replaceAll('-', '+').replaceAll('_', '/'));
  const bytes = Uint8Array.from(letters, (letter) => letter.charCodeAt(0));
  const { readable, writable } = new DecompressionStream('deflate-raw');
  const writer = writable.getWriter();
  // Both ends fail if the bytes are damaged.
  const [text] = await Promise.all([read(readable), writer.write(bytes), writer.close()]);
  return {
    text,
    time: numberWithin(parts.get('t'), 0, Infinity) ?? 0,
    speed: numberWithin(parts.get('speed'), SLOWEST, FASTEST) ?? 1,
  };
}

/** The text that a stream holds. Where the stream fails, Firefox reports that of a `Response` over it as an error of the page. */
async function read(stream: ReadableStream<Uint8Array>): Promise<string> {
  const reader = stream.getReader();
  const decoder = new TextDecoder();
  for (let text = ''; ; ) {
    const { done, value } = await reader.read();
    text += decoder.decode(value, { stream: !done });
    if (done) return text;
  }
}

/** A finite number of a link, if it lies between these two. */
function numberWithin(written: string | null, least: number, most: number): number | undefined {
  const value = Number(written ?? NaN);
  return Number.isFinite(value) && value >= least && value <= most ? value : undefined;
}
