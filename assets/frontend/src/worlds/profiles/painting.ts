// The picture of the timeline on its canvas: bars of threads, kernels of streams, gaps, the axis.

import { seconds } from "../../format";
import type { ProfileDocument, ProfileKind, ProfileLook } from "./wire";
import { eachDrawn, type Span, ticksOf, type Track } from "./tracks";

export const THREAD_ROW = 19;
export const STREAM_ROW = 30;
export const BETWEEN = 8;
export const AXIS = 18;

export const HUES: Record<ProfileKind, string> = {
  product: "--g0",
  attention: "--g6",
  elementwise: "--g1",
  reduction: "--g2",
  copy: "--g4",
  collective: "--g3",
  other: "--control",
};
const LOOKS: readonly ProfileLook[] = ["module", "operator", "annotation", "runtime", "wait"];

/** Levels that threads show together unless one is open: the streams are to be in sight. */
const CLOSED = 4;
const MOST_CLOSED = 3;

/** Where the tracks stand above one another, how many levels each shows, how high all of them are. */
export interface Stand {
  tops: number[];
  rows: number[];
  height: number;
}

/** Threads show their outermost levels, those that are open all. */
export function standOf(tracks: readonly Track[], open: ReadonlySet<string>): Stand {
  const stand: Stand = { tops: [], rows: [], height: AXIS };
  const closed = closedRows(tracks);
  for (const { wire, levels } of tracks) {
    const isWhole = wire.is_device || open.has(wire.id);
    const rows = isWhole ? levels.length : Math.min(closed, levels.length);
    stand.tops.push(stand.height);
    stand.rows.push(rows);
    stand.height += rows * (wire.is_device ? STREAM_ROW : THREAD_ROW) + BETWEEN;
  }
  return stand;
}

/** How many levels a thread shows that is not open. */
export function closedRows(tracks: readonly Track[]): number {
  const threads = tracks.filter(({ wire }) => !wire.is_device).length;
  return Math.max(1, Math.min(MOST_CLOSED, Math.floor(CLOSED / threads)));
}

/** Colours by the name of their variable, read once per picture. */
export type Ink = (name: string) => string;

export function inkOf(element: Element): Ink {
  const style = getComputedStyle(element);
  const kept = new Map<string, string>();
  return (name) => {
    if (!kept.has(name)) kept.set(name, style.getPropertyValue(name).trim());
    return kept.get(name)!;
  };
}

export interface Scene {
  doc: ProfileDocument;
  tracks: readonly Track[];
  stand: Stand;
  span: Span;
  width: number;
  /** Whether an event is the selected one, belongs to it, or neither. */
  look(track: number, event: number): "sel" | "rel" | "";
  /** The gap that is selected. */
  gap: string | null;
  /** The event that is selected, with the track that launched it. */
  launch: { track: number; event: number } | null;
}

export function paint(canvas: CanvasRenderingContext2D, scene: Scene, ink: Ink): void {
  const { span, width, stand } = scene;
  const scale = width / (span.end - span.begin);
  const x = (time: number) => (time - span.begin) * scale;
  canvas.clearRect(0, 0, width, stand.height);
  canvas.font = `11px ${getComputedStyle(canvas.canvas).fontFamily}`;
  canvas.textBaseline = "middle";
  paintAxis(canvas, scene, ink, x);
  paintGaps(canvas, scene, ink, x);
  for (const [at, track] of scene.tracks.entries())
    (track.wire.is_device ? paintStream : paintThread)(canvas, scene, at, ink, x);
  paintLaunch(canvas, scene, ink, x);
}

type ToX = (time: number) => number;

function paintAxis(canvas: CanvasRenderingContext2D, scene: Scene, ink: Ink, x: ToX): void {
  canvas.textAlign = "center";
  for (const time of ticksOf(scene.span, scene.width / 110)) {
    canvas.fillStyle = ink("--line-2");
    canvas.fillRect(Math.round(x(time)), AXIS - 2, 1, scene.stand.height);
    canvas.fillStyle = ink("--fg-2");
    const words = seconds(time * 1e-9);
    const half = canvas.measureText(words).width / 2;
    const middle = Math.min(scene.width - half, Math.max(half, x(time)));
    canvas.fillText(words, middle, AXIS / 2);
  }
  canvas.textAlign = "left";
}

const LIT = 0.55;

function paintGaps(canvas: CanvasRenderingContext2D, scene: Scene, ink: Ink, x: ToX): void {
  const { doc, span, stand, gap } = scene;
  let drawnTo = -1;
  for (const each of doc.gaps) {
    if (each.begin + each.last < span.begin || each.begin > span.end) continue;
    const left = Math.max(x(each.begin), drawnTo, 0);
    const right = Math.min(x(each.begin + each.last), scene.width);
    if (right - left < 0.5) continue;
    drawnTo = right;
    canvas.globalAlpha = LIT;
    canvas.fillStyle = ink("--fallback-bg");
    canvas.fillRect(left, AXIS, right - left, stand.height - AXIS);
    canvas.globalAlpha = 1;
    if (each.id === gap) {
      canvas.strokeStyle = ink("--sel");
      canvas.lineWidth = 2;
      canvas.strokeRect(left + 1, AXIS + 1, right - left - 2, stand.height - AXIS - 2);
    }
    paintGapWords(canvas, scene, each, left, right, ink);
  }
}

/** What a gap is, on the first stream, where there is room. */
function paintGapWords(
  canvas: CanvasRenderingContext2D,
  { tracks, stand }: Scene,
  { title, words }: { title: string; words: string },
  left: number,
  right: number,
  ink: Ink,
): void {
  const at = tracks.findIndex(({ wire }) => wire.is_device);
  const top = stand.tops[at];
  if (top === undefined || right - left < 60) return;
  canvas.fillStyle = ink("--fallback");
  write(canvas, title, left + 5, top + 8, right - left - 10);
  canvas.fillStyle = ink("--fg");
  write(canvas, words, left + 5, top + 21, right - left - 10);
}

function paintThread(
  canvas: CanvasRenderingContext2D,
  scene: Scene,
  at: number,
  ink: Ink,
  x: ToX,
): void {
  const track = scene.tracks[at]!;
  const pixel = (scene.span.end - scene.span.begin) / scene.width;
  for (const [row, level] of track.levels.slice(0, scene.stand.rows[at]).entries()) {
    const top = scene.stand.tops[at]! + row * THREAD_ROW;
    eachDrawn(track, level, scene.span, pixel, ({ first, last, begin, end }) => {
      const left = Math.max(0, x(begin));
      const width = Math.max(1, Math.min(scene.width, x(end)) - left - 0.5);
      const look = LOOKS[track.wire.looks[first]!];
      const isWait = look === "wait";
      canvas.fillStyle = ink(isWait ? "--fallback-bg" : look === "runtime" ? "--bg" : "--bg-3");
      canvas.fillRect(left, top, width, THREAD_ROW - 2);
      if (width > 3) {
        canvas.strokeStyle = ink(isWait ? "--fallback" : "--line");
        canvas.lineWidth = 1;
        canvas.strokeRect(left + 0.5, top + 0.5, width - 1, THREAD_ROW - 3);
      }
      mark(canvas, scene.look(at, first), left, top, width, THREAD_ROW - 2, ink);
      if (first !== last) return;
      canvas.fillStyle = ink("--fg");
      const name = scene.doc.names[track.wire.of[first]!] ?? "";
      write(canvas, name, left + 4, top + THREAD_ROW / 2 - 1, width - 8);
    });
  }
}

const FILL = 0.28;
const EDGE = 4;

function paintStream(
  canvas: CanvasRenderingContext2D,
  scene: Scene,
  at: number,
  ink: Ink,
  x: ToX,
): void {
  const { doc, span } = scene;
  const track = scene.tracks[at]!;
  const pixel = (span.end - span.begin) / scene.width;
  for (const [row, level] of track.levels.entries()) {
    const top = scene.stand.tops[at]! + row * STREAM_ROW;
    const height = STREAM_ROW - 4;
    eachDrawn(track, level, span, pixel, ({ first, last, begin, end }) => {
      const left = Math.max(0, x(begin));
      const room = Math.min(scene.width, x(end)) - left;
      const width = room > 3 ? room - 0.6 : Math.max(0.8, room);
      const kernel = track.wire.of[first]!;
      canvas.fillStyle = ink("--bg");
      canvas.fillRect(left, top, width, height);
      canvas.fillStyle = ink(HUES[doc.kinds[kernel] ?? "other"]);
      canvas.globalAlpha = FILL;
      canvas.fillRect(left, top, width, height);
      canvas.globalAlpha = 1;
      canvas.fillRect(left, top, width, EDGE);
      mark(canvas, scene.look(at, first), left, top, width, height, ink);
      if (first !== last) return;
      canvas.fillStyle = ink("--fg");
      const words = `${doc.titles[kernel]}, ${seconds((end - begin) * 1e-9)}`;
      write(canvas, words, left + 4, top + height / 2 + 2, width - 8);
    });
  }
}

/** The frame of what is selected, or belongs to it. */
function mark(
  canvas: CanvasRenderingContext2D,
  look: "sel" | "rel" | "",
  left: number,
  top: number,
  width: number,
  height: number,
  ink: Ink,
): void {
  if (!look) return;
  canvas.strokeStyle = ink("--sel");
  canvas.lineWidth = look === "sel" ? 2.5 : 1;
  canvas.strokeRect(left, top + 0.5, Math.max(1, width), height - 1);
}

/** A thin line from the launch of the selected event to its beginning. */
function paintLaunch(canvas: CanvasRenderingContext2D, scene: Scene, ink: Ink, x: ToX): void {
  const place = scene.launch;
  if (!place) return;
  const { wire, begins } = scene.tracks[place.track]!;
  const before = wire.launched[place.event] ?? -1;
  const from = wire.launched_from[place.event] ?? -1;
  if (before < 0 || from < 0) return;
  const begin = begins[place.event]!;
  const top = scene.stand.tops[from]!;
  const to = scene.stand.tops[place.track]!;
  canvas.strokeStyle = ink("--sel");
  canvas.lineWidth = 1.2;
  canvas.beginPath();
  canvas.moveTo(x(begin - before), top + THREAD_ROW / 2);
  canvas.lineTo(x(begin - before), to - BETWEEN / 2);
  canvas.lineTo(x(begin), to - BETWEEN / 2);
  canvas.lineTo(x(begin), to);
  canvas.stroke();
}

const LETTER = 5.9;

/** Text as far as it fits; nothing where less than three letters would. */
function write(
  canvas: CanvasRenderingContext2D,
  text: string,
  x: number,
  y: number,
  room: number,
): void {
  if (room < 3 * LETTER) return;
  const width = canvas.measureText(text).width;
  const letters = Math.floor((text.length * room) / width);
  if (width <= room) canvas.fillText(text, x, y);
  else if (letters > 3) canvas.fillText(`${text.slice(0, letters - 1)}…`, x, y, room);
}
