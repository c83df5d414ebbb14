// Names of members as people read them.

/** A kernel's hash is shortened: `kernels/avx2/f25647210950….so`. */
export function shortName(name: string): string {
  return name.replace(/\b([0-9a-f]{12})[0-9a-f]{52}\b/, "$1…");
}
