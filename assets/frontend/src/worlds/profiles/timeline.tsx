// The timeline: the whole trace above, the part in sight below; it follows the hand and the keys.

import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { seconds } from "../../format";
import { Icon } from "../../ui/icons";
import { usePaneState } from "../../ui/kept";
import { useWidth } from "../../ui/size";
import type { ProfileDocument, ProfileKind } from "./wire";
import {
  closedRows,
  HUES,
  inkOf,
  paint,
  type Stand,
  standOf,
  STREAM_ROW,
  THREAD_ROW,
} from "./painting";
import type { Place, ProfileState } from "./state";
import { eachDrawn, eventAt, moved, type Span, type Track, within, zoomed } from "./tracks";

const KINDS: readonly (readonly [ProfileKind, string])[] = [
  ["product", "matrix product"],
  ["attention", "attention"],
  ["elementwise", "elementwise"],
  ["reduction", "reduction"],
  ["copy", "copy"],
  ["collective", "collective"],
  ["other", "other"],
];
const LABELS = 92;
const NONE: ReadonlySet<string> = new Set();
const MARGIN = 12;

export function Timeline({ state, doc }: { state: ProfileState; doc: ProfileDocument }) {
  const [hover, setHover] = useState<Place | null>(null);
  const kinds = useMemo(() => new Set(doc.kinds), [doc]);
  const place = hover ?? state.place.value;
  return (
    <section class="prof-time" role="group" aria-label="Timeline">
      <div class="bar">
        <h2>Timeline</h2>
        {place ? (
          <span class="cut grow" data-tip="">
            {said(state, place)}
          </span>
        ) : (
          <span class="prof-legend cut grow">
            {KINDS.filter(([kind]) => kinds.has(kind)).map(([kind, words]) => (
              <span key={kind}>
                <i style={{ background: `var(${HUES[kind]})` }} />
                {words}
              </span>
            ))}
            {doc.gaps.length > 0 && (
              <span>
                <i class="prof-idle" />
                idle
              </span>
            )}
          </span>
        )}
        <span class="keys" aria-hidden="true">
          <kbd>W</kbd> <kbd>A</kbd> <kbd>S</kbd> <kbd>D</kbd> <kbd>F</kbd> fit
        </span>
      </div>
      <Overview state={state} doc={doc} />
      <Picture state={state} doc={doc} hover={setHover} />
      {doc.omitted && <p class="mut prof-omitted">{doc.omitted}</p>}
    </section>
  );
}

/** An event in words: its name, how long, when. */
export function said(state: ProfileState, place: Place): string {
  const { begin, end } = state.spanOf(place);
  const { wire } = state.tracks.peek()[place.track]!;
  const where = wire.is_device ? wire.title.toLowerCase() : wire.note;
  return `${state.nameOf(place)}: ${seconds((end - begin) * 1e-9)} at ${seconds(begin * 1e-9)}, ${where}`;
}

/** A picture that is painted when `paint` would differ, in the next frame and once for each. */
function usePainted(draw: (canvas: HTMLCanvasElement) => void, signs: readonly unknown[]) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const theme = useTheme(canvas);
  useLayoutEffect(() => {
    const frame = requestAnimationFrame(() => canvas.current && draw(canvas.current));
    return () => cancelAnimationFrame(frame);
  }, [...signs, theme]);
  return canvas;
}

/** Counts changes of the theme: what is painted has its colours in it. */
function useTheme(element: { current: Element | null }): number {
  const [changes, setChanges] = useState(0);
  useEffect(() => {
    const view = element.current?.closest(".wb");
    if (!view) return;
    const watch = new MutationObserver(() => setChanges((count) => count + 1));
    watch.observe(view, { attributeFilter: ["data-theme"] });
    return () => watch.disconnect();
  }, []);
  return changes;
}

/** Makes a canvas as sharp as the screen; everything is drawn in its own pixels. */
function sharpen(canvas: HTMLCanvasElement, width: number, height: number) {
  const ratio = devicePixelRatio || 1;
  const [wide, high] = [Math.round(width * ratio), Math.round(height * ratio)];
  if (canvas.width !== wide) canvas.width = wide;
  if (canvas.height !== high) canvas.height = high;
  const context = canvas.getContext("2d");
  context?.setTransform(ratio, 0, 0, ratio, 0, 0);
  return context;
}

const BAND = 18;

function Overview({ state, doc }: { state: ProfileState; doc: ProfileDocument }) {
  const box = useRef<HTMLDivElement>(null);
  const width = Math.max(50, useWidth(box) - LABELS - MARGIN);
  const { whole } = state;
  const span = state.span.value;
  const draw = (canvas: HTMLCanvasElement) => {
    const context = sharpen(canvas, width, BAND);
    if (!context) return;
    const ink = inkOf(canvas);
    const all = { begin: 0, end: whole };
    context.clearRect(0, 0, width, BAND);
    context.fillStyle = ink("--fallback-bg");
    for (const { begin, last } of doc.gaps)
      context.fillRect((begin / whole) * width, 4, Math.max(1, (last / whole) * width), 11);
    for (const track of state.tracks.peek().filter(({ wire }) => wire.is_device))
      for (const level of track.levels)
        eachDrawn(track, level, all, whole / width / 2, ({ first, begin, end }) => {
          context.fillStyle = ink(HUES[doc.kinds[track.wire.of[first]!] ?? "other"]);
          const left = (begin / whole) * width;
          context.fillRect(left, 4, Math.max(0.5, ((end - begin) / whole) * width), 11);
        });
  };
  const canvas = usePainted(draw, [doc, width]);
  const go = (event: PointerEvent & { currentTarget: HTMLElement }) => {
    if (event.type === "pointerdown") event.currentTarget.setPointerCapture(event.pointerId);
    else if (!event.buttons) return;
    const { left } = event.currentTarget.getBoundingClientRect();
    const at = ((event.clientX - left) / width) * whole;
    const half = (span.end - span.begin) / 2;
    state.look({ begin: at - half, end: at + half });
  };
  const share = (time: number) => `${(time / whole) * 100}%`;
  return (
    <div ref={box} class="prof-all">
      <span class="num" data-tip="The whole trace with the CPU; the frame is the part shown below.">
        {seconds(whole * 1e-9)}
      </span>
      <div onPointerDown={go} onPointerMove={go}>
        <canvas ref={canvas} style={{ width: `${width}px`, height: `${BAND}px` }} />
        <i style={{ left: share(span.begin), width: share(span.end - span.begin) }} />
      </div>
    </div>
  );
}

interface PictureProps {
  state: ProfileState;
  doc: ProfileDocument;
  hover(place: Place | null): void;
}

function Picture({ state, doc, hover }: PictureProps) {
  const box = useRef<HTMLDivElement>(null);
  const width = Math.max(50, useWidth(box) - LABELS - MARGIN);
  const tracks = state.tracks.value;
  const [open, setOpen] = usePaneState<ReadonlySet<string>>(state, "open threads", NONE);
  const stand = useMemo(() => standOf(tracks, open), [tracks, open]);
  const turn = (id: string) =>
    setOpen(new Set(open.has(id) ? [...open].filter((each) => each !== id) : [...open, id]));
  const span = state.span.value;
  const selected = state.selected.value;
  const place = state.place.value;
  const related = state.related.value;
  const look = useLook(state);
  const draw = (canvas: HTMLCanvasElement) => {
    const context = sharpen(canvas, width, stand.height);
    const gap = selected?.startsWith("gaps:") ? selected : null;
    const scene = { doc, tracks, stand, span, width, look, gap, launch: place };
    if (context) paint(context, scene, inkOf(canvas));
  };
  const canvas = usePainted(draw, [doc, width, stand, span, selected, place, related]);
  const hand = useHand({ state, width, stand, hover });
  return (
    <div
      ref={box}
      class="prof-tracks"
      role="application"
      aria-label="Timeline. W and S zoom, A and D pan, F fits the selection, arrow keys go from event to event."
      aria-describedby="prof-said"
      tabIndex={0}
      {...hand}
    >
      <div style={{ height: `${stand.height}px` }}>
        {tracks.map((track, at) => (
          <Label
            key={track.wire.id}
            track={track}
            top={stand.tops[at]!}
            closed={closedRows(tracks)}
            open={open}
            turn={turn}
          />
        ))}
        <canvas
          ref={canvas}
          style={{ width: `${width}px`, height: `${stand.height}px`, left: `${LABELS}px` }}
        />
      </div>
      <span class="sr" role="status" aria-live="polite">
        {place ? said(state, place) : ""}
      </span>
    </div>
  );
}

interface LabelProps {
  track: Track;
  top: number;
  closed: number;
  open: ReadonlySet<string>;
  turn(id: string): void;
}

/** The name of a track; that of a thread with more levels shows them all, or folds them. */
function Label({ track, top, closed, open, turn }: LabelProps) {
  const { id, title, note, is_device } = track.wire;
  const isOpen = open.has(id);
  return (
    <span style={{ top: `${top}px` }} data-tip={`${title}: ${note}`}>
      {!is_device && track.levels.length > closed ? (
        <button
          type="button"
          class="btn link"
          aria-expanded={isOpen}
          onClick={(event) => {
            event.stopPropagation();
            turn(id);
          }}
        >
          <Icon name={isOpen ? "down" : "right"} />
          {title}
        </button>
      ) : (
        title
      )}
      {(is_device || track.levels.length > 1) && <small>{note}</small>}
    </span>
  );
}

/** Which rows of kernels are selected, or belong to what is. */
function useLook(state: ProfileState): (track: number, event: number) => "sel" | "rel" | "" {
  const selected = state.selected.value;
  const related = state.related.value;
  const place = state.place.value;
  const tracks = state.tracks.value;
  return (track, event) => {
    if (place) return place.track === track && place.event === event ? "sel" : "";
    const { wire } = tracks[track]!;
    if (!wire.is_device || selected === null) return "";
    const row = `kernels:${wire.of[event]}`;
    if (row === selected) return "sel";
    return related.has(row) ? "rel" : "";
  };
}

const PART = 0.12;
const SLACK = 3;

interface HandProps {
  state: ProfileState;
  width: number;
  stand: Stand;
  hover(place: Place | null): void;
}

/** What pointer, wheel and keys do with the picture. */
function useHand({ state, width, stand, hover }: HandProps) {
  const grip = useRef<{ x: number; span: Span; isMoved: boolean } | null>(null);
  const timeAt = (event: MouseEvent & { currentTarget: HTMLElement }) => {
    const { begin, end } = state.span.peek();
    const { left } = event.currentTarget.getBoundingClientRect();
    return begin + ((event.clientX - left - LABELS) / width) * (end - begin);
  };
  const under = (event: MouseEvent & { currentTarget: HTMLElement }) => {
    const box = event.currentTarget;
    const y = event.clientY - box.getBoundingClientRect().top + box.scrollTop;
    const { begin, end } = state.span.peek();
    const slack = ((end - begin) / width) * SLACK;
    return placeAt(state, stand, y, timeAt(event), slack);
  };
  return {
    onPointerDown(event: PointerEvent & { currentTarget: HTMLElement }) {
      if (event.button === 0)
        grip.current = { x: event.clientX, span: state.span.peek(), isMoved: false };
    },
    onPointerMove(event: PointerEvent & { currentTarget: HTMLElement }) {
      const held = grip.current;
      if (!held || !event.buttons) return hover(under(event));
      const by = event.clientX - held.x;
      if (!held.isMoved && Math.abs(by) < SLACK) return;
      held.isMoved = true;
      event.currentTarget.setPointerCapture(event.pointerId);
      const { begin, end } = held.span;
      const shift = (by / width) * (end - begin);
      state.look({ begin: begin - shift, end: end - shift });
    },
    onPointerLeave: () => hover(null),
    onClick(event: MouseEvent & { currentTarget: HTMLElement }) {
      const isMoved = grip.current?.isMoved;
      grip.current = null;
      if (isMoved) return;
      const place = under(event);
      const gap = place ? undefined : gapAt(state, timeAt(event));
      if (place) state.pick(place);
      else if (gap !== undefined) state.select(gap);
      else state.clear();
    },
    onDblClick: () => state.fit(),
    onWheel(event: WheelEvent & { currentTarget: HTMLElement }) {
      const { whole } = state;
      const span = state.span.peek();
      if (event.ctrlKey || event.metaKey)
        state.look(zoomed(span, Math.exp(event.deltaY * 0.004), timeAt(event), whole));
      else if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY))
        state.look(moved(span, (event.deltaX || event.deltaY) / width, whole));
      else return;
      event.preventDefault();
    },
    onKeyDown(event: KeyboardEvent) {
      if (event.ctrlKey || event.metaKey || event.altKey || !steer(state, event.key)) return;
      event.preventDefault();
      event.stopPropagation();
    },
  };
}

/** Whether a key moved the picture or the selection. */
export function steer(state: ProfileState, key: string): boolean {
  const { whole } = state;
  const span = state.span.peek();
  const middle = (span.begin + span.end) / 2;
  switch (key.toLowerCase()) {
    case "w":
    case "+":
      state.look(zoomed(span, 1 / 1.4, middle, whole));
      return true;
    case "s":
    case "-":
      state.look(zoomed(span, 1.4, middle, whole));
      return true;
    case "a":
      state.look(moved(span, -PART, whole));
      return true;
    case "d":
      state.look(moved(span, PART, whole));
      return true;
    case "f":
      state.fit();
      return true;
    case "home":
      state.look(within({ begin: 0, end: whole }, whole));
      return true;
    case "arrowleft":
      return step(state, -1);
    case "arrowright":
      return step(state, 1);
    default:
      return false;
  }
}

/** Goes to the event beside the selected one, or to the first that is seen. */
function step(state: ProfileState, by: 1 | -1): boolean {
  const place = state.place.peek();
  const next = place ? state.beside(place, by) : firstSeen(state);
  if (!next) return false;
  state.pick(next);
  state.reveal(next);
  return true;
}

function firstSeen(state: ProfileState): Place | null {
  const { begin, end } = state.span.peek();
  for (const [at, track] of state.tracks.peek().entries()) {
    const level = track.wire.is_device ? track.levels[0] : undefined;
    const event = level ? eventAt(track, level, begin, end - begin) : -1;
    if (event >= 0) return { track: at, event };
  }
  return null;
}

function placeAt(
  state: ProfileState,
  { tops, rows }: Stand,
  y: number,
  time: number,
  slack: number,
): Place | null {
  const at = tops.findLastIndex((top) => y >= top);
  const track = state.tracks.peek()[at];
  if (!track) return null;
  const row = Math.floor((y - tops[at]!) / (track.wire.is_device ? STREAM_ROW : THREAD_ROW));
  const level = row < rows[at]! ? track.levels[row] : undefined;
  const event = level ? eventAt(track, level, time, slack) : -1;
  return event < 0 ? null : { track: at, event };
}

function gapAt(state: ProfileState, time: number): string | undefined {
  return state.doc.peek()?.gaps.find(({ begin, last }) => time >= begin && time <= begin + last)
    ?.id;
}
