// The keys of the view of a report: what they are and what they do.

import type { Store } from "../store";
import type { KeyWords } from "./help";
import { isPressable } from "./keys";

export const REPORT_KEYS: readonly KeyWords[] = [
  { keys: ["1", "0"], words: "switch pane; - the eleventh", isRange: true },
  { keys: ["/"], words: "find" },
  { keys: ["↑", "↓"], words: "previous or next row or line" },
  { keys: ["↑", "↓", "←", "→"], words: "in the graph: walk along edges and siblings" },
  { keys: ["Shift", "↑", "↓", "←", "→"], words: "in the graph: move the view" },
  { keys: ["Page Up", "Page Down"], words: "in the graph: zoom in and out" },
  { keys: ["Ctrl", "wheel"], words: "in the graph: zoom; the wheel alone after a click in it" },
  { keys: ["Home", "End"], words: "in the graph: show all, show the selection" },
  { keys: ["Space"], words: "in the graph: open or close the box" },
  { keys: ["e"], words: "in assembly: explain the instruction of the line" },
  { keys: ["n", "p"], words: "in a comparison: next difference, the one before" },
  { keys: ["p"], words: "in the chart of memory: the peak" },
  { keys: ["Enter"], words: "open the code of the selected thing" },
  { keys: ["Alt", "←", "→"], words: "back and forward through selections" },
  { keys: ["i"], words: "show or hide the inspector" },
  { keys: ["Esc"], words: "clear the selection" },
];

export interface Actions {
  find(): void;
  inspector(): void;
}

/** Whether the view of a report has answered a key. */
export function pressReport(event: KeyboardEvent, store: Store, actions: Actions): boolean {
  if (event.altKey) {
    if (event.key === "ArrowLeft") store.back();
    else if (event.key === "ArrowRight") store.forward();
    else return false;
  } else if (event.key === "/") actions.find();
  else if (event.key === "i") actions.inspector();
  else if (event.key === "Escape") store.select(null);
  else if (event.key === "Enter" && !isPressable(event.target)) store.openCode();
  else return false;
  return true;
}
