// The canvas of the graph: pointer, wheel and keys on it, tooltip, legend and overview map over it.

import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import type { ComponentChildren } from "preact";
import { openCode } from "../shell/keys";
import type { Store } from "../store";
import type { Caption } from "./draw";
import { Legend } from "./legend";
import type { Looks } from "./looks";
import { centred, mapPlace } from "./minimap";
import { Painter } from "./painter";
import { hitAt, rectOf, type Hit, type Plan } from "./plan";
import type { PlacedBox } from "./scene";
import { Tip, type TipAt } from "./tip";
import { fitted, panned, revealed, toGraph, union, zoomed, type Rect, type View } from "./viewport";
import { step, type Direction } from "./walk";

export interface Shown {
  plan: Plan;
  looks: Looks;
  caption(box: PlacedBox): Caption;
  markOf(node: number): string | undefined;
}

export interface Handle {
  fitAll(): void;
  fitSelection(): void;
  reveal(node: number): void;
}

interface Props extends Shown {
  store: Store;
  label: string;
  /** Where the view was left, by graph. */
  views: Map<string, View>;
  viewKey: string;
  hover(node: number): void;
  toggle(box: PlacedBox): void;
  resized(aspect: number): void;
  handle(handle: Handle): void;
  /** What stands beside the legend. */
  children?: ComponentChildren;
}

const WHEEL = 0.0015;
const FOOT = 30; // the height of what lies over the lower edge
const ARROWS: Record<string, Direction> = {
  ArrowUp: "up",
  ArrowDown: "down",
  ArrowLeft: "left",
  ArrowRight: "right",
};

export function GraphCanvas(props: Props) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const map = useRef<HTMLCanvasElement>(null);
  const now = useRef(props);
  now.current = props;
  const view = useRef<View>({ zoom: 1, x: 0, y: 0 });
  const painter = useRef<Painter | null>(null);
  /** Whether the whole graph was asked for; then it stays whole when the pane changes its size. */
  const showsAll = useRef(false);
  /** Where a box that is being opened or closed stood: it must not jump from under the pointer. */
  const anchor = useRef<{ node: number; x: number; y: number } | null>(null);
  const [tip, setTip] = useState<TipAt | null>(null);

  const size = () => ({
    width: canvas.current?.clientWidth || 1,
    height: canvas.current?.clientHeight || 1,
  });
  const look = (next: View, isAll = false) => {
    view.current = next;
    showsAll.current = isAll;
    now.current.views.set(now.current.viewKey, next);
    painter.current?.request();
  };
  const fitAll = () => {
    const { scene } = now.current.plan;
    const { width, height } = size();
    look(fitted({ x: 0, y: 0, width: scene.width, height: scene.height }, width, height, { margin: 8, foot: FOOT }), true);
  };
  const fitSelection = () => {
    const rect = litRect(now.current);
    const { width, height } = size();
    if (rect) look(fitted(rect, width, height, { most: 1.1, margin: 40 }));
  };
  const reveal = (node: number) => {
    const rect = rectOf(now.current.plan, node);
    const { width, height } = size();
    if (!rect) return;
    const near = view.current.zoom < 0.6 ? fitted(rect, width, height, { most: 0.9 }) : view.current;
    look(revealed(near, rect, width, height));
  };

  useLayoutEffect(() => {
    const element = canvas.current!;
    painter.current = new Painter(element, map.current!, () => ({ ...now.current, view: view.current }));
    const watch = new ResizeObserver(() => {
      const { width, height } = size();
      if (width > 1) now.current.resized(width / height);
      if (showsAll.current) fitAll();
      painter.current?.request();
    });
    watch.observe(element);
    const themes = new MutationObserver(() => painter.current?.request());
    themes.observe(document.body, { attributes: true });
    const root = element.closest(".wb");
    if (root) themes.observe(root, { attributes: true });
    const wheel = (event: WheelEvent) => {
      event.preventDefault();
      const box = element.getBoundingClientRect();
      const lines = event.deltaMode === 1 ? 16 : 1;
      const factor = Math.exp(-event.deltaY * lines * WHEEL);
      look(
        event.shiftKey
          ? panned(view.current, -(event.deltaX || event.deltaY) * lines, 0)
          : zoomed(view.current, factor, event.clientX - box.left, event.clientY - box.top),
      );
    };
    // Not through a prop: only a listener that is not passive may keep the page from scrolling.
    element.addEventListener("wheel", wheel, { passive: false });
    props.handle({ fitAll, fitSelection, reveal });
    return () => {
      watch.disconnect();
      themes.disconnect();
      element.removeEventListener("wheel", wheel);
      painter.current?.stop();
    };
  }, []);

  useLayoutEffect(() => {
    const known = props.views.get(props.viewKey);
    const rect = litRect(now.current);
    const { width, height } = size();
    if (known) look(known);
    else if (rect) look(fitted(rect, width, height, { most: 1, margin: 60, foot: FOOT }));
    else fitAll();
  }, [props.viewKey]);
  useLayoutEffect(() => {
    const kept = anchor.current;
    anchor.current = null;
    const box = kept && props.plan.scene.boxes[props.plan.scene.boxOf[kept.node]!];
    if (!box && showsAll.current) fitAll();
    if (!box) return;
    const { zoom } = view.current;
    look({ zoom, x: kept.x - box.x * zoom, y: kept.y - box.y * zoom });
  }, [props.plan]);
  useEffect(() => painter.current?.request(), [props.plan, props.looks]);
  useEffect(() => {
    const rect = litRect(now.current);
    const { width, height } = size();
    if (rect && !touches(rect, view.current, width, height))
      look(fitted(rect, width, height, { most: Math.max(0.7, view.current.zoom), margin: 60 }));
  }, [props.looks.selected, props.plan]);

  const toggle = (box: PlacedBox) => {
    const { zoom, x, y } = view.current;
    anchor.current = { node: box.nodes[0]!, x: box.x * zoom + x, y: box.y * zoom + y };
    setTip(null);
    now.current.toggle(box);
  };
  const pick = (event: PointerEvent | MouseEvent): Hit => {
    const box = canvas.current!.getBoundingClientRect();
    const at = toGraph(view.current, event.clientX - box.left, event.clientY - box.top);
    return hitAt(now.current.plan, at.x, at.y);
  };
  const press = (hit: Hit) => {
    const { store, plan } = now.current;
    if (hit?.kind === "node") store.select(plan.model.ids[hit.node]!);
    else if (hit?.kind === "box") {
      const box = plan.scene.boxes[hit.box]!;
      if (hit.isToggle || box.id === null) toggle(box);
      else store.select(box.id);
    } else store.select(null);
  };
  const drag = (event: PointerEvent) => {
    if (event.button !== 0) return;
    const element = canvas.current!;
    const start = { x: event.clientX, y: event.clientY, view: view.current, moved: false };
    element.setPointerCapture(event.pointerId);
    setTip(null);
    const move = (at: PointerEvent) => {
      const [dx, dy] = [at.clientX - start.x, at.clientY - start.y];
      start.moved ||= Math.abs(dx) + Math.abs(dy) > 3;
      if (start.moved) look(panned(start.view, dx, dy));
    };
    const stop = (at: PointerEvent) => {
      element.removeEventListener("pointermove", move);
      element.removeEventListener("pointerup", stop);
      element.removeEventListener("pointercancel", stop);
      if (!start.moved && at.type === "pointerup") press(pick(at));
    };
    element.addEventListener("pointermove", move);
    element.addEventListener("pointerup", stop);
    element.addEventListener("pointercancel", stop);
  };
  const point = (event: PointerEvent) => {
    if (event.buttons) return;
    const hit = pick(event);
    const box = canvas.current!.getBoundingClientRect();
    canvas.current!.style.cursor = hit ? "pointer" : "grab";
    now.current.hover(hit?.kind === "node" ? hit.node : -1);
    setTip(hit && { hit, x: event.clientX - box.left, y: event.clientY - box.top });
  };
  const leave = () => {
    now.current.hover(-1);
    setTip(null);
  };
  const double = (event: MouseEvent) => {
    const hit = pick(event);
    const box = hit?.kind === "box" ? now.current.plan.scene.boxes[hit.box] : undefined;
    if (box) toggle(box);
  };
  const key = (event: KeyboardEvent) => {
    if (event.altKey || event.ctrlKey || event.metaKey) return;
    const { store, plan } = now.current;
    const { width, height } = size();
    const node = plan.model.index.get(store.selected.peek() ?? "") ?? null;
    const direction = ARROWS[event.key];
    if (direction && event.shiftKey) look(panned(view.current, ...shift(direction)));
    else if (direction) {
      const next = step(plan, node, direction);
      if (next === null) return;
      store.select(plan.model.ids[next]!);
      reveal(next);
    } else if (event.key === "PageUp") look(zoomed(view.current, 1.25, width / 2, height / 2));
    else if (event.key === "PageDown") look(zoomed(view.current, 0.8, width / 2, height / 2));
    else if (event.key === "Home") fitAll();
    else if (event.key === "End") fitSelection();
    else if (event.key === " ") {
      const box = boxOfSelection(plan, store.selected.peek(), node);
      if (box) toggle(box);
    } else if (event.key === "Enter") openCode(store);
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  const jump = (event: PointerEvent) => {
    const element = map.current!;
    element.setPointerCapture(event.pointerId);
    const move = (at: PointerEvent) => {
      const box = element.getBoundingClientRect();
      const place = mapPlace(now.current.plan, box.width, box.height);
      const point = { x: at.clientX - box.left, y: at.clientY - box.top };
      look(centred(place, view.current, point, size()));
    };
    const stop = () => {
      element.removeEventListener("pointermove", move);
      element.removeEventListener("pointerup", stop);
    };
    element.addEventListener("pointermove", move);
    element.addEventListener("pointerup", stop);
    move(event);
  };
  return (
    <div class="graph-canvas">
      <canvas
        ref={canvas}
        class="graph-main"
        role="application"
        aria-roledescription="graph"
        aria-label={props.label}
        tabIndex={0}
        onPointerDown={drag}
        onPointerMove={point}
        onPointerLeave={leave}
        onDblClick={double}
        onKeyDown={key}
      />
      <Legend plan={props.plan} caption={props.caption} changes={props.looks.changes !== null}>
        {props.children}
      </Legend>
      <canvas
        ref={map}
        class="graph-map"
        role="img"
        aria-label="Overview map; drag in it to move the graph"
        onPointerDown={jump}
      />
      {tip && <Tip store={props.store} plan={props.plan} caption={props.caption} at={tip} />}
    </div>
  );
}

function shift(direction: Direction): [number, number] {
  const by = 60;
  return direction === "left" ? [by, 0] : direction === "right" ? [-by, 0] : direction === "up" ? [0, by] : [0, -by];
}

function boxOfSelection(plan: Plan, selected: string | null, node: number | null): PlacedBox | null {
  const { scene } = plan;
  if (node !== null) return scene.boxes[scene.boxOf[node]!] ?? null;
  return scene.boxes.find((box) => box.id !== null && box.id === selected) ?? null;
}

/** What is selected, else everything that belongs to the selection, as one rectangle. */
function litRect({ plan, looks }: Shown): Rect | null {
  const selected = looks.selected === null ? undefined : plan.model.index.get(looks.selected);
  const own = selected === undefined ? null : rectOf(plan, selected);
  if (own) return union([own, ...beside(plan, selected!)]);
  const box = plan.scene.boxes.find((each) => each.id !== null && each.id === looks.selected);
  if (box) return { x: box.x, y: box.y, width: box.width, height: box.height };
  const rects: Rect[] = [];
  looks.nodes.forEach((state, node) => {
    const rect = state ? rectOf(plan, node) : null;
    if (rect) rects.push(rect);
  });
  return union(rects);
}

/** The box of a node, which says more than the node alone. */
function beside(plan: Plan, node: number): Rect[] {
  const box = plan.scene.boxes[plan.scene.boxOf[node]!];
  return box ? [{ x: box.x, y: box.y, width: box.width, height: box.height }] : [];
}

function touches(rect: Rect, view: View, width: number, height: number): boolean {
  const left = rect.x * view.zoom + view.x;
  const top = rect.y * view.zoom + view.y;
  return (
    left < width - 20 && top < height - 20 &&
    left + rect.width * view.zoom > 20 && top + rect.height * view.zoom > 20
  );
}
