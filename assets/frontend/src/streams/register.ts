// The Streams pane and its things: collectives.

import { cardThing } from "../blocks/cards";
import type { Registration } from "../registration";
import type { Store } from "../store";
import { Streams } from "./streams";

export const streams: Registration<Store> = {
  id: "streams",
  own: { streams: Streams },
  things: { collective: cardThing("collective", { isFollowed: true }) },
};
