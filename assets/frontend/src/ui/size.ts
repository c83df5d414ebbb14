// How much room the view has, and how wide an element is; its own width counts, not that of the window.

import { createContext, type RefObject } from "preact";
import { useLayoutEffect, useState } from "preact/hooks";

export type Room = "narrow" | "normal" | "wide";

/** Tells what is inside a view how much room that has. */
export const RoomContext = createContext<Room>("normal");

const NARROW = 900;
const SCARCE = 1000;
const STEP = 20;
const WIDE = 1600;

function roomOf(width: number): Room {
  if (width < NARROW) return "narrow";
  return width > WIDE ? "wide" : "normal";
}

/** The room of a view, whether there is little for what is not asked for, its width in steps. */
export function useRoom(root: RefObject<HTMLElement | null>) {
  const isScarce = useMeasured(root, (width) => width < SCARCE, false);
  const width = useMeasured(root, (width) => width - (width % STEP), 1280);
  return { room: useMeasured(root, roomOf, "normal"), isScarce, width };
}

/** How wide an element is; until that is known, a guess. */
export function useWidth(box: RefObject<HTMLElement | null>, guess = 800): number {
  return useMeasured(box, (width) => width, guess);
}

/** What follows from the width of an element; it is drawn anew when that is another. */
function useMeasured<T>(
  box: RefObject<HTMLElement | null>,
  read: (width: number) => T,
  guess: T,
): T {
  const [found, setFound] = useState(guess);
  useLayoutEffect(() => {
    const element = box.current;
    if (!element) return;
    const look = () => element.clientWidth && setFound(read(element.clientWidth));
    const watch = new ResizeObserver(look);
    watch.observe(element);
    look();
    return () => watch.disconnect();
  }, []);
  return found;
}
