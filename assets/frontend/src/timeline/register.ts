// The Timeline pane and its things: phases.

import { cardThing } from "../blocks/cards";
import type { Registration } from "../registration";
import type { Store } from "../store";
import { CompileTimeline } from "./timeline";

export const timeline: Registration<Store> = {
  id: "timeline",
  own: { timeline: CompileTimeline },
  things: { phase: cardThing("phase") },
};
