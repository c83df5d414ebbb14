// The state of the view of a profile: what is selected, the part of the trace that is seen.

import { computed, signal, type ReadonlySignal, type Signal } from "@preact/signals";
import { kindOf } from "../../ids";
import { PaneStates } from "../../panestates";
import type { RecordsHost } from "../../opened/host";
import { Opening } from "../../opened/state";
import type { ShownRow } from "../../table/shown";
import type { Selecting } from "../../table/table";
import type { ProfileCard, ProfileDocument, RecordFact } from "./wire";
import { around, type Span, type Track, trackOf, within } from "./tracks";

export type Row = ShownRow;

/** One event of one track. */
export interface Place {
  track: number;
  event: number;
}

const NONE: ReadonlySet<string> = new Set();
const KERNELS = "kernels";
const MARGIN = 0.03;

export class ProfileState implements Selecting {
  readonly paneStates = new PaneStates();
  readonly pane: Signal<string> = signal(KERNELS);
  readonly selected: Signal<string | null> = signal(null);
  /** The event that was clicked, where one was. */
  readonly place: Signal<Place | null> = signal(null);
  readonly related: ReadonlySignal<ReadonlySet<string>>;
  readonly doc: ReadonlySignal<ProfileDocument | null>;
  readonly tracks: ReadonlySignal<readonly Track[]>;
  readonly card: ReadonlySignal<ProfileCard | undefined>;
  private readonly seen: Signal<Span | null> = signal(null);
  readonly span: ReadonlySignal<Span>;
  readonly opening: Opening;

  constructor(readonly host: RecordsHost<ProfileDocument>) {
    this.opening = new Opening(host);
    this.doc = computed(() => host.document.value);
    this.tracks = computed(() => this.doc.value?.tracks.map(trackOf) ?? []);
    this.span = computed(() => this.seen.value ?? this.ofDevice());
    this.related = computed(() => {
      const id = this.selected.value;
      const ties = id === null ? undefined : this.doc.value?.ties[id];
      return ties ? new Set(ties) : NONE;
    });
    this.card = computed(() => this.doc.value?.cards[this.selected.value ?? ""]);
  }

  /** How long the trace is, in nanoseconds. */
  get whole(): number {
    return Math.max(1, this.doc.value?.span_ns ?? 1);
  }

  /** When the device worked, with a margin: the CPU alone may take most of a trace. */
  private ofDevice(): Span {
    const own = this.tracks.value.filter(({ wire, ends }) => wire.is_device && ends.length);
    const begin = Math.min(...own.map(({ begins }) => begins[0]!));
    const end = Math.max(...own.map(({ ends, levels }) => ends[levels[0]!.at(-1)!]!));
    const margin = MARGIN * (end - begin);
    if (!(margin > 0)) return { begin: 0, end: this.whole };
    return within({ begin: begin - margin, end: end + margin }, this.whole);
  }

  look(span: Span): void {
    this.seen.value = within(span, this.whole);
  }

  show(pane: string): void {
    this.pane.value = pane;
  }

  /** Selects a thing, and moves the timeline the least that shows it. */
  select(id: string): void {
    this.place.value = null;
    this.selected.value = id;
    const where = this.whereIs(id);
    if (where && !this.isSeen(where)) this.center(where);
  }

  /** Selects the kernel of an event of a stream; on a thread the event alone. */
  pick(place: Place): void {
    const track = this.tracks.value[place.track]!;
    this.place.value = place;
    this.selected.value = track.wire.is_device ? `kernels:${track.wire.of[place.event]}` : null;
  }

  clear(): void {
    this.place.value = null;
    this.selected.value = null;
  }

  /** Fits what is selected, or all where nothing is. */
  fit(): void {
    const place = this.place.value;
    const id = this.selected.value;
    const where = place ? this.spanOf(place) : id === null ? null : this.whereIs(id);
    this.look(where ? around(where.begin, where.end, this.whole) : { begin: 0, end: this.whole });
  }

  spanOf({ track, event }: Place): Span {
    const { begins, ends } = this.tracks.value[track]!;
    return { begin: begins[event]!, end: ends[event]! };
  }

  /** The event before or after another on its track and level. */
  beside({ track, event }: Place, step: 1 | -1): Place | null {
    const { wire, levels } = this.tracks.value[track]!;
    const level = levels[wire.levels[event]!]!;
    const next = level[level.indexOf(event) + step];
    return next === undefined ? null : { track, event: next };
  }

  /** Brings an event into sight without another scale. */
  reveal(place: Place): void {
    const where = this.spanOf(place);
    if (!this.isSeen(where)) this.center(where);
  }

  /** What an event is called. */
  nameOf({ track, event }: Place): string {
    const { wire } = this.tracks.value[track]!;
    const names = wire.is_device ? this.doc.value?.titles : this.doc.value?.names;
    return names?.[wire.of[event]!] ?? "";
  }

  /** Where a thing is: a gap, or the first call of the kernel that it is or that belongs to it. */
  private whereIs(id: string): Span | null {
    const gap = this.doc.value?.gaps.find((each) => each.id === id);
    if (gap) return { begin: gap.begin, end: gap.begin + gap.last };
    const ties = this.doc.value?.ties[id] ?? [];
    const kernel = [id, ...ties].find((each) => each.startsWith(`${KERNELS}:`));
    if (kernel === undefined) {
      const tied = this.doc.value?.gaps.find((each) => ties.includes(each.id));
      return tied ? { begin: tied.begin, end: tied.begin + tied.last } : null;
    }
    return this.firstCall(Number(kernel.slice(KERNELS.length + 1)));
  }

  /** Goes to the first of what threads did by this name. */
  goTo(name: number): void {
    for (const [track, { wire }] of this.tracks.value.entries()) {
      const event = wire.is_device ? -1 : wire.of.indexOf(name);
      if (event < 0) continue;
      this.pick({ track, event });
      return this.fit();
    }
  }

  private firstCall(row: number): Span | null {
    for (const [track, { wire }] of this.tracks.value.entries()) {
      const event = wire.is_device ? wire.of.indexOf(row) : -1;
      if (event >= 0) return this.spanOf({ track, event });
    }
    return null;
  }

  private isSeen(where: Span): boolean {
    const { begin, end } = this.span.value;
    return where.end > begin && where.begin < end;
  }

  private center(where: Span): void {
    const { begin, end } = this.span.value;
    const middle = (where.begin + where.end) / 2;
    const half = (end - begin) / 2;
    this.look({ begin: middle - half, end: middle + half });
  }

  /** Opens a record at one of its kernels or lines. */
  openRecord({ of, id, text }: RecordFact): void {
    const pane = kindOf(id!) === "line" ? "overview" : "kernels";
    void this.opening.row(of, text, { pane, selected: id! });
  }

  close(): void {
    this.opening.close();
  }
}
