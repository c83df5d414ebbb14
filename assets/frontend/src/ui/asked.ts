// What the host is asked for when it is first shown.

import { useEffect, useState } from "preact/hooks";
import type { LinkedPart } from "../links";
import type { Store } from "../store";

export interface Asked<T> {
  part: T | null;
  failed: string | null;
}

const NOTHING = { part: null, failed: null };

/** What `ask` gives for a name, and for the same name of another record; null asks for nothing. */
export function useAsked<T>(
  store: Store,
  name: string | null,
  ask: (name: string) => Promise<T>,
): Asked<T> {
  const of = store.doc.value;
  const [asked, setAsked] = useState({ name: "", of, ...(NOTHING as Asked<T>) });
  useEffect(() => {
    if (name === null) return;
    let isCurrent = true;
    const put = (answer: Asked<T>) => isCurrent && setAsked({ name, of, ...answer });
    ask(name).then(
      (part) => put({ part, failed: null }),
      (error: Error) => put({ part: null, failed: error.message }),
    );
    return () => {
      isCurrent = false;
    };
  }, [store, of, name]);
  return asked.name === name && asked.of === of ? asked : NOTHING;
}

/** A part by name; the one before stays out of sight while the next is on its way. */
export function usePart<T extends LinkedPart>(store: Store, name: string | null): Asked<T> {
  const asked = useAsked(store, name, (name) => store.need<T>(name));
  const known = name === null ? undefined : (store.parts.get(name) as T | undefined);
  return asked === NOTHING && known ? { part: known, failed: null } : asked;
}

/** What a message about a missing part is headed with: that it was not made is no finding. */
export function titleOf(store: Store, otherwise: string): string {
  return store.host.lost.value === null ? otherwise : "Not shown.";
}

/** Does what may fail; why it did, and whether it went well. */
export function useAttempt(): [string | null, (work: Promise<unknown>) => Promise<boolean>] {
  const [error, setError] = useState<string | null>(null);
  const attempt = (work: Promise<unknown>) => {
    setError(null);
    return work.then(
      () => true,
      (problem: Error) => {
        setError(problem.message);
        return false;
      },
    );
  };
  return [error, attempt];
}

/** Whether an answer that is waited for takes long. */
export function useLate(isAsked: boolean, patience: number): boolean {
  const [isLate, late] = useState(false);
  useEffect(() => {
    if (!isAsked) return;
    const timer = setTimeout(() => late(true), patience);
    return () => clearTimeout(timer);
  }, [isAsked]);
  return isLate;
}

/** The same for what ties nothing together: the host keeps it, not the store. */
export function useAnswer<T>(store: Store, name: string | null): Asked<T> {
  return useAsked(store, name, (name) => store.host.part<T>(name));
}
