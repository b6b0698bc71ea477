/** Light and dark. */

/** Changes from the one to the other. */
export function switchTheme(): void {
  const dark = getComputedStyle(document.documentElement).getPropertyValue('--page') === '#12161d';
  document.documentElement.dataset['theme'] = dark ? 'light' : 'dark';
}

/** Hears when the system changes. */
export function onTheme(changed: () => void): void {
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', changed);
}
