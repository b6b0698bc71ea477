/** Whether anything may move that the user has not set in motion. */
export const wantsMotion = (): boolean => !matchMedia('(prefers-reduced-motion: reduce)').matches;
