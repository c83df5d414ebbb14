// Two things picked to be asked about together: why are they apart?

import { type ReadonlySignal, signal, type Signal } from "@preact/signals";
import { kernelOf, kindOf, ownerOf } from "./ids";

/** What picking reads of a view. */
interface Picking {
  selected: ReadonlySignal<string | null>;
  related: ReadonlySignal<ReadonlySet<string>>;
  /** The kernel of a final group. */
  kernelOfGroup(id: string): string | null;
}

/** Whether a click holds the key for a second pick. */
function isSecond(event: MouseEvent): boolean {
  return event.ctrlKey || event.metaKey;
}

export class Pair {
  /** None, one that waits for a second, or both. */
  readonly picked: Signal<readonly string[]> = signal([]);
  private isPicking = false;

  constructor(private readonly view: Picking) {}

  /** Lets what the click selects be picked instead, while it is answered. */
  listen(event: MouseEvent): void {
    this.isPicking = isSecond(event);
    if (this.isPicking) setTimeout(() => (this.isPicking = false));
  }

  /** Whether a thing that is to be selected was picked. */
  takes(id: string): boolean {
    if (!this.isPicking) return false;
    this.pick(id);
    return true;
  }

  /** Picks a thing: beside the selected one, unless that holds it or one was picked before. */
  pick(id: string): void {
    const thing = this.pickable(id);
    if (thing === null) return;
    const before = this.picked.peek().filter((each) => each !== thing);
    if (before.length < this.picked.peek().length) {
      this.picked.value = before; // picked again: no more
      return;
    }
    const first = before.length ? before.slice(-1) : this.besides(thing);
    this.picked.value = [...first, thing];
  }

  clear(): void {
    this.picked.value = [];
  }

  /** A pair that was answered goes with the next selection; one that waits stays. */
  leave(): void {
    if (this.picked.peek().length === 2) this.clear();
  }

  has(id: string): boolean {
    return this.picked.value.includes(id);
  }

  private besides(thing: string): string[] {
    const selected = this.view.selected.peek();
    const own = selected === null ? null : this.pickable(selected);
    const isPart = this.view.related.peek().has(thing) && kindOf(thing) === "kernel";
    return own === null || own === thing || (isPart && kindOf(own) === "line") ? [] : [own];
  }

  /** The line, node or kernel that a thing stands for. */
  private pickable(id: string): string | null {
    const kind = kindOf(id);
    if (kind === "line" || kind === "node" || kind === "kernel") return id;
    if (kind === "kernel-line") return ownerOf(id);
    if (kind === "config" || kind === "asm-line") return kernelOf(id);
    return kind === "group" ? this.view.kernelOfGroup(id) : null;
  }
}

interface Looking {
  selected: ReadonlySignal<string | null>;
  related: ReadonlySignal<ReadonlySet<string>>;
  pair?: Pair;
}

/** How a row looks: selected, belonging to that, picked. */
export function lookOf(view: Looking, id: string): string {
  const isSelected = view.selected.value === id;
  const look = isSelected ? "sel" : view.related.value.has(id) ? "rel" : "";
  return view.pair?.has(id) ? `${look} pick`.trim() : look;
}
