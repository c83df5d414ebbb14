// The panes by id; a pane is a component that gets the store.

import type { ComponentType } from "preact";
import type { Store } from "./store";
import type { PaneId } from "./wire";

export type Pane = ComponentType<{ store: Store }>;

export const PANES: Partial<Record<PaneId, Pane>> = {};
