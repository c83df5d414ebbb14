// The part of the graph that is seen: zoom, and where the graph's origin lies on the screen.

export interface View {
  zoom: number;
  x: number;
  y: number;
}

export interface Rect {
  x: number;
  y: number;
  width: number;
  height: number;
}

export const LEAST = 0.004;
export const MOST = 3;

export function toGraph(view: View, x: number, y: number): { x: number; y: number } {
  return { x: (x - view.x) / view.zoom, y: (y - view.y) / view.zoom };
}

export function seen(view: View, width: number, height: number): Rect {
  const corner = toGraph(view, 0, 0);
  return { ...corner, width: width / view.zoom, height: height / view.zoom };
}

/** Zooms by a factor around a point of the screen that stays where it is. */
export function zoomed(view: View, factor: number, x: number, y: number): View {
  const zoom = Math.min(MOST, Math.max(LEAST, view.zoom * factor));
  const ratio = zoom / view.zoom;
  return { zoom, x: x - (x - view.x) * ratio, y: y - (y - view.y) * ratio };
}

export function panned(view: View, dx: number, dy: number): View {
  return { ...view, x: view.x + dx, y: view.y + dy };
}

/** Shows a rectangle whole, no larger than `most`, no smaller than `least`. */
export function fitted(
  rect: Rect,
  width: number,
  height: number,
  { most = 1.15, least = LEAST, margin = 16 } = {},
): View {
  const room = { width: Math.max(1, width - margin * 2), height: Math.max(1, height - margin * 2) };
  const fit = Math.min(
    room.width / Math.max(1, rect.width),
    room.height / Math.max(1, rect.height),
  );
  const zoom = Math.max(Math.min(least, most), Math.min(most, fit));
  return {
    zoom,
    x: width / 2 - (rect.x + rect.width / 2) * zoom,
    y: height / 2 - (rect.y + rect.height / 2) * zoom,
  };
}

/** The smallest move that brings a rectangle into view; the same view when it is there already. */
export function revealed(view: View, rect: Rect, width: number, height: number, margin = 40): View {
  const left = rect.x * view.zoom + view.x;
  const top = rect.y * view.zoom + view.y;
  const right = left + rect.width * view.zoom;
  const bottom = top + rect.height * view.zoom;
  const isInside = left >= 0 && top >= 0 && right <= width && bottom <= height;
  if (isInside) return view;
  const dx = left < margin ? margin - left : right > width - margin ? width - margin - right : 0;
  const dy = top < margin ? margin - top : bottom > height - margin ? height - margin - bottom : 0;
  return panned(view, dx, dy);
}

export function union(rects: Iterable<Rect>): Rect | null {
  let found: Rect | null = null;
  for (const rect of rects) {
    if (!found) {
      found = { ...rect };
      continue;
    }
    const right = Math.max(found.x + found.width, rect.x + rect.width);
    const bottom = Math.max(found.y + found.height, rect.y + rect.height);
    found.x = Math.min(found.x, rect.x);
    found.y = Math.min(found.y, rect.y);
    found.width = right - found.x;
    found.height = bottom - found.y;
  }
  return found;
}
