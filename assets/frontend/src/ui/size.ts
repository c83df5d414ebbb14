// How much room the view has, and how wide an element is; its own width counts, not that of the window.

import { useLayoutEffect, useState } from "preact/hooks";
import { createContext, type RefObject } from "preact";

export type Room = "narrow" | "normal" | "wide";

/** Tells what is inside a view how much room that has. */
export const RoomContext = createContext<Room>("normal");

const NARROW = 900;
const SCARCE = 1000;
const WIDE = 1600;

export function roomOf(width: number): Room {
  if (width < NARROW) return "narrow";
  return width > WIDE ? "wide" : "normal";
}

/** The room of a view, and whether there is little for what is not asked for. */
export function useRoom(root: RefObject<HTMLElement | null>): { room: Room; isScarce: boolean } {
  const [room, setRoom] = useState<Room>("normal");
  const [isScarce, setScarce] = useState(false);
  useLayoutEffect(() => {
    const element = root.current;
    if (!element) return;
    const look = () => {
      const width = element.clientWidth;
      if (!width) return;
      setRoom(roomOf(width));
      setScarce(width < SCARCE);
    };
    const watch = new ResizeObserver(look);
    watch.observe(element);
    look();
    return () => watch.disconnect();
  }, []);
  return { room, isScarce };
}

export function useWidth(box: { current: HTMLElement | null }): number {
  const [width, setWidth] = useState(800);
  useLayoutEffect(() => {
    const element = box.current;
    if (!element) return;
    const look = () => element.clientWidth && setWidth(element.clientWidth);
    const watch = new ResizeObserver(look);
    watch.observe(element);
    look();
    return () => watch.disconnect();
  }, []);
  return width;
}
