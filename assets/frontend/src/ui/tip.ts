// Tips: words that float beside what is pointed at, focused or touched for long.

/** How long something is pointed at, focused or touched before its tip shows, in milliseconds. */
export const REST_MS = 450;
/** How long the pointer may be under way from an element to its tip. */
const LEAVE_MS = 150;
/** How long the focus may go on scrolling to its place; a later scroll hides the tip. */
const SETTLE_MS = 200;
const GAP = 6;
const EDGE = 4;

/** What has an answer of its own to a short touch. */
const PRESSABLE =
  "button, a, summary, label, input, select, [role=row], [role=option], [role=treeitem]";
const MOVES = /^(Arrow|Page|Home$|End$)/;

/** Shows the tips of a view (`data-tip`), until the function that comes back is called. */
export function tips(view: HTMLElement): () => void {
  const made = new Tips(view);
  return () => made.close();
}

class Tips {
  private readonly box: HTMLElement;
  private readonly ending = new AbortController();
  private owner: Element | null = null;
  private isByKey = false;
  private since = 0;
  private isHeld = false;
  /** Whether the last key was Tab: a focus that moves for other reasons shows no tip. */
  private isTabbing = false;
  private pressed = { x: NaN, y: NaN };
  private waiting: ReturnType<typeof setTimeout> | undefined;

  constructor(private readonly view: HTMLElement) {
    this.box = view.ownerDocument.createElement("div");
    this.box.className = "tip";
    this.box.id = `wb-tip-${crypto.randomUUID?.() ?? Math.random().toString(36).slice(2)}`;
    this.box.setAttribute("role", "tooltip");
    this.listen();
  }

  close(): void {
    this.ending.abort();
    this.hide();
  }

  private listen(): void {
    const { view } = this;
    const at = { signal: this.ending.signal };
    const early = { ...at, capture: true };
    view.addEventListener("pointerover", (event) => this.over(event), at);
    view.addEventListener("pointerleave", () => this.leave(), at);
    view.addEventListener("pointerdown", (event) => this.down(event), early);
    view.addEventListener("pointerup", (event) => this.up(event), at);
    view.addEventListener("pointercancel", () => clearTimeout(this.waiting), at);
    view.addEventListener("click", (event) => this.afterHold(event), early);
    view.addEventListener("contextmenu", (event) => this.isHeld && event.preventDefault(), at);
    view.addEventListener("focusin", (event) => this.focus(event), at);
    view.addEventListener("focusout", () => this.isByKey && this.hide(), at);
    view.addEventListener("keydown", (event) => this.press(event), early);
    const page = view.ownerDocument;
    page.addEventListener("keydown", (event) => this.pressAnywhere(event), early);
    page.addEventListener("scroll", () => this.scroll(), { ...early, passive: true });
  }

  private over(event: PointerEvent): void {
    if (event.pointerType === "touch" || !(event.target instanceof Element)) return;
    // Where the pointer pressed, something else may have come under it: nobody pointed at that.
    if (event.clientX === this.pressed.x && event.clientY === this.pressed.y) return;
    if (this.box.contains(event.target)) return clearTimeout(this.waiting);
    const found = tipAt(event.target, this.view);
    if (found && found.owner === this.owner) return clearTimeout(this.waiting);
    if (this.owner) this.leave(found);
    else if (found) this.after(REST_MS, () => this.show(found.owner, found.text));
    else clearTimeout(this.waiting);
  }

  /** Hides the tip a moment later, and shows the next one. */
  private leave(next: Found | null = null): void {
    if (this.isByKey && !next) return;
    this.after(LEAVE_MS, () => {
      this.hide();
      if (next?.owner.isConnected) this.after(LEAVE_MS, () => this.show(next.owner, next.text));
    });
  }

  private down(event: PointerEvent): void {
    this.hide();
    this.isHeld = this.isTabbing = false;
    this.pressed = { x: event.clientX, y: event.clientY };
    if (event.pointerType !== "touch" || !(event.target instanceof Element)) return;
    const found = tipAt(event.target, this.view);
    if (!found) return;
    this.after(REST_MS, () => {
      this.isHeld = true;
      this.show(found.owner, found.text);
    });
  }

  /** A short touch on what does nothing else. */
  private up(event: PointerEvent): void {
    if (event.pointerType !== "touch" || this.isHeld) return;
    clearTimeout(this.waiting);
    if (!(event.target instanceof Element) || event.target.closest(PRESSABLE)) return;
    const found = tipAt(event.target, this.view);
    if (found) this.show(found.owner, found.text);
  }

  /** A long touch asks for the tip: it does not press as well. */
  private afterHold(event: Event): void {
    if (!this.isHeld) return;
    this.isHeld = false;
    event.preventDefault();
    event.stopPropagation();
  }

  private focus(event: FocusEvent): void {
    if (!this.isTabbing || !(event.target instanceof Element)) return;
    const found = tipOfFocus(event.target, this.view);
    if (found) this.show(found.owner, found.text, true);
  }

  /** The tip of the row that the arrow keys came to, once they rest there. */
  private afterMove(): void {
    this.after(REST_MS, () => {
      const { activeElement } = this.view.getRootNode() as Document | ShadowRoot;
      if (!activeElement || !this.view.contains(activeElement)) return;
      const found = tipOfFocus(activeElement, this.view);
      if (found) this.show(found.owner, found.text, true);
    });
  }

  private press(event: KeyboardEvent): void {
    if (event.key === "Escape" || event.key === "Shift") return;
    this.hide();
    if (MOVES.test(event.key)) this.afterMove();
  }

  private pressAnywhere(event: KeyboardEvent): void {
    this.isTabbing = event.key === "Tab";
    if (this.isTabbing) makeReachable(this.view);
    if (event.key !== "Escape" || !this.owner) return;
    // Escape does something else where no tip was asked for by key.
    if (this.isByKey) {
      event.preventDefault();
      event.stopPropagation();
    }
    this.hide();
  }

  private scroll(): void {
    if (performance.now() - this.since < SETTLE_MS) this.place();
    else this.hide();
  }

  private after(delay: number, then: () => void): void {
    clearTimeout(this.waiting);
    this.waiting = setTimeout(then, delay);
  }

  private show(owner: Element, text: string, isByKey = false): void {
    this.hide();
    if (!owner.isConnected) return;
    this.owner = owner;
    this.isByKey = isByKey;
    this.since = performance.now();
    this.box.textContent = text;
    this.box.classList.toggle("by-key", isByKey);
    (owner.closest(".wb") ?? this.view).append(this.box);
    // In the top layer no dialog covers it and no frame cuts it.
    this.box.popover = "manual";
    this.box.showPopover?.();
    owner.setAttribute("aria-describedby", this.box.id);
    this.place();
  }

  private hide(): void {
    clearTimeout(this.waiting);
    this.owner?.removeAttribute("aria-describedby");
    this.owner = null;
    this.isByKey = false;
    this.box.remove();
  }

  /** Above its owner, below where there is no room, and within what is seen of the page. */
  private place(): void {
    const { owner, box } = this;
    const page = this.view.ownerDocument.defaultView;
    if (!owner || !page) return;
    const seen = page.visualViewport;
    const [left, top] = [seen?.offsetLeft ?? 0, seen?.offsetTop ?? 0];
    const right = left + (seen?.width ?? page.innerWidth) - EDGE;
    const bottom = top + (seen?.height ?? page.innerHeight) - EDGE;
    const at = owner.getBoundingClientRect();
    const { width, height } = box.getBoundingClientRect();
    const [above, below] = [at.top - GAP - height, at.bottom + GAP];
    const isBelow =
      above < top + EDGE && (below + height <= bottom || at.top - top < bottom - at.bottom);
    const x = Math.max(left + EDGE, Math.min(at.left, right - width));
    const y = isBelow ? below : above;
    Object.assign(box.style, { left: `${x}px`, top: `${y}px` });
    // Where no top layer is, an element around it may be what it is placed in.
    const found = box.getBoundingClientRect();
    Object.assign(box.style, { left: `${2 * x - found.left}px`, top: `${2 * y - found.top}px` });
  }
}

/** What is walked by arrow keys, or has the focus itself: its tips come with that focus. */
const OWNERS =
  "button, a, input, select, textarea, summary, label, td, " +
  "[role=row], [role=option], [role=treeitem], [role=tab], [aria-hidden=true]";

function collapsed(text: string): string {
  return text.replace(/\s+/g, " ").trim();
}

/** The text of an element without what is there for a screen reader alone. */
function shownIn(element: Element): string {
  if (!element.querySelector(".sr")) return element.textContent ?? "";
  const copy = element.cloneNode(true) as Element;
  copy.querySelectorAll(".sr").forEach((each) => each.remove());
  return copy.textContent ?? "";
}

/** Whether some text of an element is wider than its place. */
function isCut(element: Element): boolean {
  return [element, ...element.querySelectorAll(":not(.sr)")].some(
    ({ clientWidth, scrollWidth }) => clientWidth > 0 && scrollWidth > clientWidth,
  );
}

/** What an element hides: null where there is nothing that cannot be read on it. */
export function textOf(element: Element): string | null {
  const tip = element.getAttribute("data-tip");
  if (tip === null) return null;
  const shown = shownIn(element);
  const words = (tip || shown).trim();
  if (!words) return null;
  if (collapsed(shown).includes(collapsed(words)) && !isCut(element)) return null;
  return words;
}

/** What an element and all in it hide, a line for each; `data-tip-of` names the line. */
export function allTextOf(element: Element): string | null {
  const lines = [element, ...element.querySelectorAll("[data-tip]")].flatMap((each) => {
    const text = textOf(each);
    const name = each.getAttribute("data-tip-of");
    return text === null ? [] : [name ? `${name}: ${text}` : text];
  });
  return [...new Set(lines)].join("\n") || null;
}

export interface Found {
  owner: Element;
  text: string;
}

/** The element under the pointer that has something to say, and what. */
function tipAt(target: Element, view: Element): Found | null {
  let owner = target.closest("[data-tip]");
  while (owner && view.contains(owner)) {
    const text = textOf(owner);
    if (text !== null) return { owner, text };
    owner = owner.parentElement?.closest("[data-tip]") ?? null;
  }
  return null;
}

/** What can have the focus and tips in it, without being a place that scrolls. */
const FOCUSED = "button, a, summary, label, select, [data-tip]";

/** The tips of what has the focus, or of the row that it marks as active, in one. */
function tipOfFocus(focused: Element, view: Element): Found | null {
  const active = focused.getAttribute("aria-activedescendant");
  const root = focused.getRootNode() as Document | ShadowRoot;
  const owner = active ? root.getElementById(active) : (focused.closest("label") ?? focused);
  if (!owner) return null;
  const text = active || owner.matches(FOCUSED) ? allTextOf(owner) : null;
  if (text !== null) return { owner, text };
  return focused.matches("input, button") ? tipAt(focused, view) : null;
}

/** Elements to which the Tab key leads for their tip alone. */
const reached = new WeakSet<Element>();

/** Lets the Tab key reach every tip that no other focus shows; those that hide nothing are left out. */
export function makeReachable(view: Element): void {
  for (const element of view.querySelectorAll<HTMLElement>("[data-tip]")) {
    const isHead = element.matches("[role=columnheader]");
    if ((element.closest(OWNERS) && !isHead) || !("tabIndex" in element)) continue;
    const isOurs = reached.has(element);
    if (element.hasAttribute("tabindex") && !isOurs) continue;
    const isWanted = element.getClientRects().length > 0 && textOf(element) !== null;
    if (isWanted === isOurs) continue;
    if (isWanted) {
      element.tabIndex = 0;
      reached.add(element);
    } else {
      element.removeAttribute("tabindex");
      reached.delete(element);
    }
  }
}
