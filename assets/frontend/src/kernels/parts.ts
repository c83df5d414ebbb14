// A part of the report, asked for when it is first shown.

import { useEffect, useState } from "preact/hooks";
import type { LinkedPart } from "../links";
import type { Store } from "../store";

export interface Asked<T> {
  part: T | null;
  failed: string | null;
}

/** A part by name; the one before stays out of sight while the next is on its way. */
export function usePart<T extends LinkedPart>(store: Store, name: string | null): Asked<T> {
  const [asked, setAsked] = useState<Asked<T> & { name: string | null }>({
    name: null,
    part: null,
    failed: null,
  });
  useEffect(() => {
    if (name === null) return;
    let isCurrent = true;
    store.need<T>(name).then(
      (part) => isCurrent && setAsked({ name, part, failed: null }),
      (error: Error) => isCurrent && setAsked({ name, part: null, failed: error.message }),
    );
    return () => {
      isCurrent = false;
    };
  }, [store, name]);
  if (asked.name === name) return asked;
  const known = name === null ? null : ((store.parts.get(name) as T | undefined) ?? null);
  return { part: known, failed: null };
}
