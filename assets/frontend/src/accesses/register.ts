// The Accesses pane and its things: what the memory sees of each line of a kernel.

import { cardThing } from "../blocks/cards";
import type { Registration } from "../registration";
import type { Store } from "../store";
import { ShownAccess } from "./accesses";

export const accesses: Registration<Store> = {
  id: "accesses",
  own: { access: ShownAccess },
  things: { access: cardThing("access", { isFollowed: true }) },
};
