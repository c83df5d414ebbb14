import { describe, expect, it } from "vitest";
import { Camera } from "../src/graph/camera";
import type { Scene } from "../src/graph/layout/scene";

const screen = { width: 800, height: 300 };
const wide = { width: 1400, height: 200, boxes: [], boxOf: [] } as unknown as Scene;

function middle(camera: Camera, rect: { x: number; y: number; width: number; height: number }) {
  const { zoom, x, y } = camera.view;
  return [(rect.x + rect.width / 2) * zoom + x, (rect.y + rect.height / 2) * zoom + y];
}

describe("a selection that was brought into sight", () => {
  const before = { x: 10, y: 300, width: 60, height: 20 };
  const after = { x: 1200, y: 90, width: 60, height: 20 };

  it("stays there when the graph is laid out anew for another shape of the pane", () => {
    const camera = new Camera(
      () => screen,
      () => {},
    );
    camera.fit(before, 1);
    const place = middle(camera, before);
    camera.settle(wide, after);
    expect(middle(camera, after)).toEqual(place);
  });

  it("is left to the reader who has moved the view since", () => {
    const camera = new Camera(
      () => screen,
      () => {},
    );
    camera.fit(before, 1);
    camera.pan(5, 5);
    const { view } = camera;
    camera.settle(wide, after);
    expect(camera.view).toEqual(view);
  });
});
