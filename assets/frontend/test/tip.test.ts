// @vitest-environment happy-dom

import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { allTextOf, makeReachable, REST_MS, textOf, tips } from "../src/ui/tip";

/** Makes an element as wide as its text, in a place that may be narrower. */
function laidOut(element: Element, width: number, room: number): void {
  Object.defineProperty(element, "scrollWidth", { value: width });
  Object.defineProperty(element, "clientWidth", { value: room });
}

function drawn(html: string): HTMLElement {
  document.body.innerHTML = `<div class="wb">${html}</div>`;
  return document.body.firstElementChild as HTMLElement;
}

function one(selector: string): HTMLElement {
  return document.querySelector<HTMLElement>(selector)!;
}

describe("what a tip says", () => {
  test("what is not written on the element", () => {
    drawn('<button data-tip="Keyboard (?)"></button>');
    expect(textOf(one("button"))).toBe("Keyboard (?)");
  });

  test("what is written there in full is not said again", () => {
    drawn('<b data-tip="k0  fused">Kernel <i>k0 fused</i></b><i data-tip="">whole</i>');
    expect(textOf(one("b"))).toBeNull();
    expect(textOf(one("i[data-tip]"))).toBeNull();
  });

  test("what is cut is said", () => {
    drawn('<b data-tip="">a long name</b><p data-tip="a long line"><i>a long line</i></p>');
    laidOut(one("b"), 300, 100);
    laidOut(one("p i"), 300, 100);
    expect(textOf(one("b"))).toBe("a long name");
    expect(textOf(one("p"))).toBe("a long line");
  });

  test("words for a screen reader do not count as written", () => {
    drawn('<b data-tip="Captured"><span class="sr">Captured</span></b>');
    expect(textOf(one("b"))).toBe("Captured");
  });

  test("a row says all that its cells hide, each once and by its column", () => {
    drawn(`<div role="row">
      <div data-tip="bound by DRAM" data-tip-of="Bound">memory</div>
      <div data-tip="12 kB" data-tip-of="Moved">12 kB</div>
      <div data-tip="Triton"><i data-tip="Triton"></i></div>
    </div>`);
    expect(allTextOf(one("[role=row]"))).toBe("Bound: bound by DRAM\nTriton");
  });
});

describe("the Tab key", () => {
  beforeEach(() => {
    vi.spyOn(HTMLElement.prototype, "getClientRects").mockReturnValue([
      new DOMRect(),
    ] as unknown as DOMRectList);
  });

  test("reaches what hides something, and no cell of a table", () => {
    const view = drawn(`<span data-tip="why">x</span><b data-tip="">whole</b>
      <div role="row"><i data-tip="why">x</i></div>
      <div role="row"><u role="columnheader" data-tip="why">x</u></div>`);
    makeReachable(view);
    expect(one("span").tabIndex).toBe(0);
    expect(one("b").hasAttribute("tabindex")).toBe(false);
    expect(one("i").hasAttribute("tabindex")).toBe(false);
    expect(one("u").tabIndex).toBe(0);
  });

  test("leaves out what hides nothing any more", () => {
    const view = drawn('<span data-tip="why">x</span>');
    makeReachable(view);
    one("span").textContent = "why";
    makeReachable(view);
    expect(one("span").hasAttribute("tabindex")).toBe(false);
  });
});

describe("tips of a view", () => {
  let close = () => {};

  beforeEach(() => {
    vi.useFakeTimers();
    close = tips(
      drawn(`<span data-tip="why">x</span><button data-tip="Copies it">Copy</button>
        <div id="grid" tabindex="0" aria-activedescendant="r1">
          <div id="r1" role="row"><i data-tip="much more">more</i></div>
        </div>`),
    );
  });
  afterEach(() => {
    close();
    vi.useRealTimers();
  });

  const shown = () => document.querySelector("[role=tooltip]")?.textContent ?? null;
  const point = (type: string, at: string, pointerType = "mouse") =>
    one(at).dispatchEvent(new PointerEvent(type, { bubbles: true, pointerType }));
  const press = (key: string, at: string) => {
    const event = new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true });
    one(at).dispatchEvent(event);
    return event;
  };

  test("the pointer that rests shows one, and leaving hides it", () => {
    point("pointerover", "span");
    expect(shown()).toBeNull();
    vi.advanceTimersByTime(REST_MS);
    expect(shown()).toBe("why");
    expect(one("span").getAttribute("aria-describedby")).toBe(one("[role=tooltip]").id);
    point("pointerover", "#grid");
    vi.advanceTimersByTime(REST_MS);
    expect(shown()).toBeNull();
    expect(one("span").hasAttribute("aria-describedby")).toBe(false);
  });

  test("the pointer may go onto the tip to read on", () => {
    point("pointerover", "span");
    vi.advanceTimersByTime(REST_MS);
    point("pointerover", "#grid");
    point("pointerover", "[role=tooltip]");
    vi.advanceTimersByTime(REST_MS);
    expect(shown()).toBe("why");
  });

  test("focus by key shows it at once; Escape hides it and does nothing else", () => {
    press("Tab", "body");
    one("button").focus();
    expect(shown()).toBe("Copies it");
    expect(press("Escape", "button").defaultPrevented).toBe(true);
    expect(shown()).toBeNull();
    expect(press("Escape", "button").defaultPrevented).toBe(false);
  });

  test("a focus that no Tab key brought shows none", () => {
    press("3", "body");
    one("button").focus();
    vi.advanceTimersByTime(REST_MS);
    expect(shown()).toBeNull();
  });

  test("arrow keys show the tips of the row that they came to", () => {
    one("#grid").focus();
    press("ArrowDown", "#grid");
    vi.advanceTimersByTime(REST_MS);
    expect(shown()).toBe("much more");
    expect(one("#r1").hasAttribute("aria-describedby")).toBe(true);
    press("ArrowDown", "#grid");
    expect(shown()).toBeNull();
  });

  test("a long touch shows it and does not press the button", () => {
    const pressed = vi.fn();
    one("button").addEventListener("click", pressed);
    point("pointerdown", "button", "touch");
    vi.advanceTimersByTime(REST_MS);
    expect(shown()).toBe("Copies it");
    point("pointerup", "button", "touch");
    one("button").click();
    expect(pressed).not.toHaveBeenCalled();
    one("button").click();
    expect(pressed).toHaveBeenCalledOnce();
  });

  test("a short touch shows it where it does nothing else", () => {
    for (const type of ["pointerdown", "pointerup"]) point(type, "button", "touch");
    expect(shown()).toBeNull();
    for (const type of ["pointerdown", "pointerup"]) point(type, "span", "touch");
    expect(shown()).toBe("why");
  });

  test("a closed view has none", () => {
    point("pointerover", "span");
    close();
    vi.advanceTimersByTime(REST_MS);
    expect(shown()).toBeNull();
  });
});
