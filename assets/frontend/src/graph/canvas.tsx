// The canvas of the graph, with its overview map, legend and tooltip.

import type { ComponentChildren } from "preact";
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { shownCost } from "../cost/cost";
import { bytes, plural } from "../format";
import type { Store } from "../store";
import { useReveal } from "../ui/kept";
import { Camera } from "./camera";
import { type FileKind, saveGraph } from "./drawing/export";
import { litRect } from "./drawing/looks";
import { Painter } from "./drawing/painter";
import { type Caption, type Subject } from "./drawing/picture";
import { drag, jump, pinch, wheel } from "./gestures";
import { fitSelection, press } from "./keys";
import { type Hit, hitAt, type Plan, rectOf } from "./layout/plan";
import type { PlacedBox } from "./layout/scene";
import { toGraph, type View } from "./layout/viewport";
import { type Size } from "./layout/flow";

export interface Handle {
  fitAll(): void;
  fitSelection(): void;
  reveal(node: number): void;
  save(kind: FileKind): void;
}

interface Props extends Subject {
  store: Store;
  label: string;
  /** Where the view was left, by `viewKey`. */
  views: Map<string, View>;
  viewKey: string;
  hover(node: number): void;
  toggle(box: PlacedBox): void;
  resized(aspect: number): void;
  handle(handle: Handle): void;
  /** What stands beside the legend. */
  children?: ComponentChildren;
}

type Latest = { current: Props };
type Canvas = { current: HTMLCanvasElement | null };

export function GraphCanvas(props: Props) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const map = useRef<HTMLCanvasElement>(null);
  const now = useRef(props);
  now.current = props;
  const camera = useCamera(now, canvas, map);
  const [tip, setTip] = useState<TipAt | null>(null);
  const toggle = (box: PlacedBox) => {
    camera.hold(box);
    setTip(null);
    props.toggle(box);
  };
  const pick = (event: MouseEvent) => hitOf(event, canvas.current!, camera, props.plan);
  const point = (event: PointerEvent) => {
    if (event.buttons) return;
    const hit = pick(event);
    const { left, top } = canvas.current!.getBoundingClientRect();
    canvas.current!.style.cursor = hit ? "pointer" : "grab";
    props.hover(hit?.kind === "node" ? hit.node : -1);
    setTip(hit && { hit, x: event.clientX - left, y: event.clientY - top });
  };
  const leave = () => {
    props.hover(-1);
    setTip(null);
  };
  const grab = (event: PointerEvent) => {
    if (event.button !== 0) return;
    setTip(null);
    drag(event, camera, (at) => choose(pick(at), now.current, toggle));
  };
  const double = (event: MouseEvent) => {
    const hit = pick(event);
    if (hit?.kind === "box") toggle(props.plan.scene.boxes[hit.box]!);
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
        onPointerDown={grab}
        onPointerMove={point}
        onPointerLeave={leave}
        onDblClick={double}
        onKeyDown={(event) => press(event, { ...now.current, camera, toggle })}
      />
      <div class="graph-foot">
        <Legend
          plan={props.plan}
          caption={props.caption}
          changes={props.looks.changes !== null}
          heat={shownCost(props.store).value?.title ?? null}
        >
          {props.children}
        </Legend>
        <canvas
          ref={map}
          class="graph-map"
          role="img"
          aria-label="Overview map; drag in it to move the graph"
          onPointerDown={(event) => jump(event, camera, props.plan, () => sizeOf(canvas))}
        />
      </div>
      {tip && <Tip store={props.store} plan={props.plan} caption={props.caption} at={tip} />}
    </div>
  );
}

function sizeOf(canvas: Canvas): Size {
  return { width: canvas.current?.clientWidth || 1, height: canvas.current?.clientHeight || 1 };
}

function hitOf(event: MouseEvent, canvas: HTMLElement, camera: Camera, plan: Plan): Hit {
  const box = canvas.getBoundingClientRect();
  const at = toGraph(camera.view, event.clientX - box.left, event.clientY - box.top);
  return hitAt(plan, at.x, at.y);
}

/** A node or kernel is selected, a box of another kind or its sign opens and closes it. */
function choose(hit: Hit, { store, plan }: Props, toggle: (box: PlacedBox) => void): void {
  if (hit === null) return store.select(null);
  if (hit.kind === "node") return store.select(plan.model.ids[hit.node]!);
  const box = plan.scene.boxes[hit.box]!;
  if (hit.isToggle || box.id === null) toggle(box);
  else store.select(box.id);
}

/** The camera with the painter behind it; it follows the selection, the scene and the size. */
function useCamera(now: Latest, canvas: Canvas, map: Canvas): Camera {
  const painter = useRef<Painter | null>(null);
  const camera = useMemo(() => {
    const moved = (view: View) => {
      now.current.views.set(now.current.viewKey, view);
      painter.current?.request();
    };
    return new Camera(() => sizeOf(canvas), moved);
  }, []);
  useLayoutEffect(() => {
    const subject = () => ({ ...now.current, view: camera.view });
    painter.current = new Painter(canvas.current!, map.current!, subject);
    now.current.handle({
      fitAll: () => camera.fitAll(now.current.plan.scene),
      fitSelection: () => fitSelection({ ...now.current, camera }),
      save: (kind) => saveGraph(kind, now.current, canvas.current!),
      reveal: (node) => {
        const rect = rectOf(now.current.plan, node);
        if (rect) camera.reveal(rect);
      },
    });
    const stop = watch(now, canvas.current!, camera, painter.current);
    return () => {
      stop();
      painter.current?.stop();
    };
  }, []);
  const { plan, looks, viewKey, views } = now.current;
  useLayoutEffect(() => {
    const known = views.get(viewKey);
    const rect = litRect(plan, looks);
    if (known) camera.look(known);
    else if (rect) camera.fit(rect, 1);
    else camera.fitAll(plan.scene);
  }, [viewKey]);
  useLayoutEffect(() => camera.settle(plan.scene, litRect(plan, looks)), [plan]);
  useEffect(() => painter.current?.request(), [plan, looks]);
  useReveal(now.current.store, viewKey, looks.selected, [looks.selected, plan], () => {
    const rect = litRect(plan, looks);
    if (rect && !camera.sees(rect)) camera.fit(rect, Math.max(0.7, camera.view.zoom));
  });
  return camera;
}

/** Follows the size, the theme and the wheel; returns what stops it. */
function watch(
  now: Latest,
  element: HTMLCanvasElement,
  camera: Camera,
  painter: Painter,
): () => void {
  const sizes = new ResizeObserver(() => {
    const { clientWidth: width, clientHeight: height } = element;
    if (width && height) now.current.resized(width / height);
    if (camera.showsAll) camera.fitAll(now.current.plan.scene);
    painter.request();
  });
  sizes.observe(element);
  const themes = new MutationObserver(() => painter.request());
  themes.observe(document.body, { attributes: true });
  const root = element.closest(".wb");
  if (root) themes.observe(root, { attributes: true });
  // Not through a prop: only a listener that is not passive may keep the page from scrolling.
  const turn = (event: WheelEvent) => wheel(event, camera);
  const ending = new AbortController();
  element.addEventListener("wheel", turn, { passive: false, signal: ending.signal });
  pinch(element, camera, ending.signal);
  return () => {
    sizes.disconnect();
    themes.disconnect();
    ending.abort();
  };
}

interface LegendProps {
  plan: Plan;
  caption(box: PlacedBox): Caption;
  changes: boolean;
  /** What the bars of boxes stand for, or null. */
  heat: string | null;
  children?: ComponentChildren;
}

export function Legend({ plan, caption, changes, heat, children }: LegendProps) {
  const looks = new Set<string>();
  for (const box of changes ? [] : plan.scene.boxes) {
    if (box.isBare) continue;
    const { mark } = caption(box);
    looks.add(mark === "ext" || mark === "fb" ? mark : mark ? "fused" : "group");
  }
  return (
    <div class="graph-legend">
      {changes && <Changes />}
      {looks.has("fused") && (
        <span class="k" style={{ "--c": "var(--g0)" }}>
          <i /> generated kernel
        </span>
      )}
      {looks.has("ext") && (
        <span class="k ext">
          <i /> library call
        </span>
      )}
      {looks.has("fb") && (
        <span class="k fb">
          <i /> fallback
        </span>
      )}
      {looks.has("group") && (
        <span class="k ext">
          <i /> group of nodes
        </span>
      )}
      {heat && looks.size > 0 && (
        <span class="k" style={{ "--c": "var(--heat)" }}>
          <i /> {heat.toLowerCase()}
        </span>
      )}
      {children}
    </div>
  );
}

function Changes() {
  return (
    <>
      <span class="graph-change added">+ added</span>
      <span class="graph-change removed">− removed</span>
      <span class="graph-change replaced">~ replaced</span>
    </>
  );
}

interface TipAt {
  hit: NonNullable<Hit>;
  x: number;
  y: number;
}

interface TipProps {
  store: Store;
  plan: Plan;
  caption(box: PlacedBox): Caption;
  at: TipAt;
}

function Tip({ store, plan, caption, at }: TipProps) {
  const place = { left: `clamp(4px, ${at.x + 12}px, calc(100% - 300px))`, top: `${at.y + 16}px` };
  const { hit } = at;
  if (hit.kind === "node")
    return <NodeTip store={store} plan={plan} node={hit.node} place={place} />;
  const box = plan.scene.boxes[hit.box]!;
  const kernel = box.id ? store.kernel(box.id) : undefined;
  const { title, note, facts } = caption(box);
  return (
    <div class="graph-tip" style={place} role="presentation">
      <b class="mono">{title}</b> {note}
      {facts && <div>{facts}</div>}
      {kernel && <div class="mut mono">{kernel.ops.join(", ")}</div>}
      <div class="mut">
        {plural(box.nodes.length, "node")} shown ·{" "}
        {hit.isToggle || box.id === null
          ? box.isOpen
            ? "click to collapse"
            : "click to open"
          : "double click to " + (box.isOpen ? "collapse" : "open")}
      </div>
    </div>
  );
}

interface NodeProps {
  store: Store;
  plan: Plan;
  node: number;
  place: { left: string; top: string };
}

function NodeTip({ store, plan, node, place }: NodeProps) {
  const { part } = plan.model;
  const line = part.lines[node] ? store.line(part.lines[node]!) : null;
  const size = part.bytes[node] ?? null;
  return (
    <div class="graph-tip" style={place} role="presentation">
      <b class="mono">{part.names[node]}</b> <span class="mono">{part.targets[node]}</span>
      <div class="mut mono">
        {[part.dtypes[node], part.shapes[node], size === null ? "" : bytes(size)]
          .filter(Boolean)
          .join(" ")}
      </div>
      {line && (
        <div class="mut mono">
          line {line.number}: {line.text.trim()}
        </div>
      )}
    </div>
  );
}
