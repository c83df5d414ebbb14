// The Memory pane and its things: storages.

import type { Registration } from "../registration";
import type { Store } from "../store";
import { StorageCard } from "./card";
import { partOf, storageOf } from "./part";
import { MemoryPane } from "./storages";

export const memory: Registration<Store> = {
  id: "memory",
  Pane: MemoryPane,
  things: {
    storage: {
      Card: StorageCard,
      label: (id, store) => storageOf(partOf(store), id)?.value ?? id,
    },
  },
};
