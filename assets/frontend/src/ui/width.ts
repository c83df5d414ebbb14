// How wide an element is, as it changes.

import { useLayoutEffect, useState } from "preact/hooks";

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
