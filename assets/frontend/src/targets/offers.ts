// What can be done with the targets that were chosen, and why not.

import type { Targets } from "../wire";

export interface Offer {
  /** What the button says. */
  words: string;
  /** Why it cannot be pressed, or null. */
  why: string | null;
}

const HERE = new Set(["host", "cpu", "cuda"]);

export function offers(
  targets: Targets,
  chosen: readonly string[],
): { place: Offer; compare: Offer } {
  const own = chosen.find((name) => HERE.has(name));
  const count = chosen.length;
  const one = count === 1 ? chosen[0] : undefined;
  return {
    place: {
      words: one ? `Compile for ${one}` : "Compile for one",
      why: placeWhy(targets, one, count),
    },
    compare: {
      words: count > 1 ? `Compare kernels on ${count} GPUs` : "Compare kernels on GPUs",
      why: compareWhy(own, count),
    },
  };
}

function placeWhy(targets: Targets, one: string | undefined, count: number): string | null {
  if (one === undefined)
    return count ? "Only one target can take the place of another." : "Choose a target.";
  return one === targets.present ? `What is shown is for ${one} already.` : null;
}

function compareWhy(own: string | undefined, count: number): string | null {
  if (count < 2) return "Choose two GPUs or more to compare them.";
  return own === undefined ? null : `Kernels are compared on GPUs, and ${own} is none.`;
}
