// Where the reader looks: moves the view and tells when it has moved.

import type { PlacedBox, Scene } from "./layout/scene";
import { fitted, panned, type Rect, revealed, type View, zoomed } from "./layout/viewport";
import { type Size } from "./layout/flow";

const READING = 0.9; // the zoom to read a node that was looked for

export class Camera {
  view: View = { zoom: 1, x: 0, y: 0 };
  /** Whether the whole graph was asked for; then it stays whole when the pane changes its size. */
  showsAll = false;
  /** How near the selection was brought, until the reader moves the view. */
  private fits: number | null = null;
  /** Where a box that is being opened or closed stands: it must not jump from under the pointer. */
  private held: { node: number; x: number; y: number } | null = null;

  constructor(
    private readonly screen: () => Size,
    private readonly moved: (view: View) => void,
  ) {}

  look(view: View, showsAll = false): void {
    this.view = view;
    this.showsAll = showsAll;
    this.fits = null;
    this.moved(view);
  }

  fitAll(scene: Scene): void {
    const { width, height } = this.screen();
    const whole = { x: 0, y: 0, width: scene.width, height: scene.height };
    // On a very wide screen a small graph may grow, but not to the size of a poster.
    const most = Math.min(2, Math.max(1.15, width / 1400));
    this.look(fitted(whole, width, height, { most, margin: 8 }), true);
  }

  fit(rect: Rect, most: number): void {
    const { width, height } = this.screen();
    this.look(fitted(rect, width, height, { most, margin: 50 }));
    this.fits = most;
  }

  /** Brings a node into sight, large enough to be read. */
  reveal(rect: Rect): void {
    const { width, height } = this.screen();
    const isFar = this.view.zoom < 0.6;
    const near = isFar ? fitted(rect, width, height, { most: READING }) : this.view;
    this.look(revealed(near, rect, width, height));
  }

  pan(dx: number, dy: number, from = this.view): void {
    this.look(panned(from, dx, dy));
  }

  /** Zooms around a point of the screen, or its middle. */
  zoom(factor: number, at?: { x: number; y: number }): void {
    const { width, height } = this.screen();
    this.look(zoomed(this.view, factor, at?.x ?? width / 2, at?.y ?? height / 2));
  }

  hold(box: PlacedBox): void {
    const { zoom, x, y } = this.view;
    this.held = { node: box.nodes[0]!, x: box.x * zoom + x, y: box.y * zoom + y };
  }

  /** After a new scene: what was held stands where it stood, what was fitted is fitted again. */
  settle(scene: Scene, selected: Rect | null): void {
    const { held } = this;
    this.held = null;
    const box = held && scene.boxes[scene.boxOf[held.node]!];
    if (box) {
      const { zoom } = this.view;
      this.look({ zoom, x: held.x - box.x * zoom, y: held.y - box.y * zoom });
    } else if (this.showsAll) this.fitAll(scene);
    else if (this.fits !== null && selected) this.fit(selected, this.fits);
  }

  /** Whether any part of a rectangle can be seen well enough. */
  sees(rect: Rect): boolean {
    const { width, height } = this.screen();
    const { zoom, x, y } = this.view;
    const [left, top] = [rect.x * zoom + x, rect.y * zoom + y];
    const [right, bottom] = [left + rect.width * zoom, top + rect.height * zoom];
    return left < width - 20 && top < height - 20 && right > 20 && bottom > 20;
  }
}
