/** Keys that do something wherever the focus is, but in fields; a button keeps the keys that press it. */

/** Acts on keys by their names; what is pressed with Alt, Ctrl or Cmd is the browser's. */
export function onKeys(actions: Record<string, () => void>, signal?: AbortSignal): void {
  const press = (event: KeyboardEvent): void => {
    const target = event.target as HTMLElement;
    if (target.matches('input, textarea, select')) return;
    if (target.matches('button, summary') && [' ', 'Enter'].includes(event.key)) return;
    const act = actions[event.key];
    if (act === undefined || event.altKey || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    act();
  };
  window.addEventListener('keydown', press, signal === undefined ? {} : { signal });
}
