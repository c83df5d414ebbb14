// What a pane registers: itself, the things that it shows at their best, what else it answers for.

import type { ComponentType } from "preact";
import type { Kind } from "./ids";
import type { EntryGroup } from "./search";
import type { Document as Report, PaneId, Part } from "./wire";

/** A kind of thing that has an id, and that a pane shows at its best; `View` is the view's state. */
export interface Thing<View> {
  /** What the inspector says of it. */
  Card?: ComponentType<{ store: View; id: string }>;
  /** Its short name: on chips, in the status bar. */
  label?(id: string, store: View): string;
  /** Whether the graphs and the code of its kernels are loaded when it is selected. */
  isFollowed?: boolean;
  /** What belongs to its kernel, or to its line, belongs to it as well. */
  through?: "kernel" | "line";
}

/** Takes down what belongs to whom. */
interface Ties {
  /** Each belongs to the other. */
  both(a: string, b: string): void;
  /** `to` belongs to `from`, not the other way round. */
  one(from: string, to: string): void;
}

/** A pane of the view; its title, count and reason for being empty come with the document. */
export interface Registration<View> {
  id: PaneId;
  /** What draws it; without it the blocks are drawn that come with its head. */
  Pane?: ComponentType<{ store: View }>;
  /** What draws some of its blocks, by their names. */
  own?: Readonly<Record<string, ComponentType<{ store: View }>>>;
  things: Partial<Record<Kind, Thing<View>>>;
  /** Kinds of other panes whose search hits it can show too. */
  alsoShows?: readonly Kind[];
  /** What belongs to whom, as far as the document tells it of this pane's things. */
  ties?(report: Report, ties: Ties): void;
  /** What the search looks into; parts are those that were loaded. */
  entries?(report: Report, parts: readonly Part[]): EntryGroup[];
  /** What would fill it where it is empty, in two words beside its name. */
  offer?: string;
  /** What stands below the words of the empty pane. */
  Remedy?: ComponentType<{ store: View }>;
  /** Whether it has answered a key that was pressed anywhere in the view. */
  press?(event: KeyboardEvent, view: View): boolean;
  /** Whether its columns need the room more than the inspector does. */
  isFull?(view: View): boolean;
  /** Whether a compilation is followed in it; such a pane is never empty. */
  isHome?: boolean;
}

/** What a world adds to the view of a report. */
export interface World<View> {
  panes: readonly Registration<View>[];
}

export type PlacedThing<View> = Thing<View> & { pane: PaneId };

/** The things of all panes by their kind. */
export function thingsOf<View>(
  panes: readonly Registration<View>[],
): ReadonlyMap<Kind, PlacedThing<View>> {
  return new Map(
    panes.flatMap(({ id, things }) =>
      Object.entries(things).map(([kind, thing]) => [kind as Kind, { ...thing, pane: id }]),
    ),
  );
}
