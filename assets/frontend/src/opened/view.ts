// What a view of records registers: its state, and what draws it.

import { type ComponentType, h, type VNode } from "preact";
import type { RecordsHost } from "./host";

/** The state of a view of records. */
export interface RecordsState {
  close(): void;
}

/** Makes the state of a view of records, and what draws it. */
export type RecordsView = (host: RecordsHost<never>) => { state: RecordsState; view: VNode };

/** A view of records from the class of its state and what draws that. */
export function openRecords<Shown, State extends RecordsState>(
  Made: new (host: RecordsHost<Shown>) => State,
  Shell: ComponentType<{ state: State }>,
): RecordsView {
  return (host) => {
    const state = new Made(host as unknown as RecordsHost<Shown>);
    return { state, view: h(Shell, { state }) as VNode };
  };
}

/** Views of a world's records, by the key under which a model or a page holds what they show. */
export type WorldRecords = Readonly<Record<string, RecordsView>>;
