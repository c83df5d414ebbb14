// The Streams pane and its things: collectives.

import { cardThing } from "../../blocks/cards";
import type { World } from "../../registration";
import type { Store } from "../../store";
import { Streams } from "./streams";

export const world: World<Store> = {
  panes: [
    {
      id: "streams",
      own: { streams: Streams },
      things: { collective: cardThing("collective", { isFollowed: true }) },
    },
  ],
};
