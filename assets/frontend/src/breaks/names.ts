// What guards are called.

import type { Guard } from "../wire";

/** A guard by its source, or by its kind where it is about torch as a whole. */
export function guardName(guard: Guard | undefined, id: string): string {
  return guard ? guard.source || guardKind(guard) : id;
}

/** TENSOR_MATCH in words. */
export function guardKind(guard: Guard): string {
  return guard.kind.toLowerCase().replaceAll("_", " ");
}
