// @vitest-environment happy-dom

import { afterEach, describe, expect, it } from "vitest";
import { isQuiet, keyOf, quiet } from "../src/shell/keys";
import { search } from "../src/search";
import { findablePanes } from "../src/shell/searchbox";
import { rgbaOf, surfaceOf, themeOf } from "../src/shell/theme";
import { TITLES } from "../src/wire";

afterEach(() => {
  document.body.innerHTML = "";
});

function key(key: string, more: KeyboardEventInit = {}): KeyboardEvent {
  return new KeyboardEvent("keydown", { key, bubbles: true, composed: true, ...more });
}

describe("a key that is pressed in a view", () => {
  it("is there for the first panes of a record, another for each; those behind have names", () => {
    const keys = Array.from({ length: 40 }, (_, at) => keyOf(at + 1)).filter(Boolean);
    expect(keys.slice(0, 10)).toEqual([..."1234567890"]);
    expect(new Set(keys).size).toBe(keys.length);
    expect(keyOf(keys.length + 1)).toBe("");
    const panes = Object.entries(TITLES).map(([id, title]) => ({ id, title }));
    panes.push({ id: "stars", title: "Stars" }); // of another package
    const shown: string[] = [];
    const group = findablePanes(panes, (pane) => shown.push(pane));
    for (const { title } of panes) search([group], title)[0]!.hits[0]!.show!();
    expect(shown).toEqual(panes.map(({ id }) => id));
  });

  it("is the view's alone, whether it answers it or not", () => {
    for (const word of ["x", "b", "0", "d", "ArrowDown", "Enter", "Escape"])
      expect(isQuiet(key(word))).toBe(true);
    expect(isQuiet(key("M", { shiftKey: true }))).toBe(true);
  });

  it("is the notebook's where it runs a cell or holds Ctrl or ⌘", () => {
    expect(isQuiet(key("Enter", { shiftKey: true }))).toBe(false);
    expect(isQuiet(key("Enter", { ctrlKey: true }))).toBe(false);
    expect(isQuiet(key("s", { metaKey: true }))).toBe(false);
    expect(isQuiet(key("Enter", { altKey: true }))).toBe(false);
  });

  it("is not heard around the view, and is again when the view is gone", () => {
    const view = document.createElement("div");
    document.body.append(view);
    const heard: string[] = [];
    document.body.addEventListener("keydown", (event) => heard.push(event.key));
    const forget = quiet(view);
    view.dispatchEvent(key("x"));
    expect(view.hasAttribute("data-lm-suppress-shortcuts")).toBe(true);
    view.dispatchEvent(key("s", { ctrlKey: true }));
    expect(view.hasAttribute("data-lm-suppress-shortcuts")).toBe(false);
    forget();
    view.dispatchEvent(key("b"));
    expect(heard).toEqual(["s", "b"]);
  });
});

describe("the surface that a view stands on", () => {
  it("is the first ground behind it that is not transparent, out of a shadow root too", () => {
    document.body.innerHTML =
      '<div style="background-color: rgb(30, 30, 30)"><p style="background-color: rgba(255, 255, 255, 0.1)"></p></div>';
    const tree = document.querySelector("p")!.attachShadow({ mode: "open" });
    tree.append(document.createElement("div"));
    const surface = surfaceOf(tree.firstElementChild!);
    expect(surface).toBe("rgb(30, 30, 30)");
    expect(themeOf(surface)).toBe("dark");
  });

  it("asks for dark letters as soon as those are read better", () => {
    expect(themeOf(null)).toBe("light");
    expect(themeOf("rgb(255, 255, 255)")).toBe("light");
    expect(themeOf("rgb(120, 120, 120)")).toBe("light"); // black 4.7:1, white 4.4:1
    expect(themeOf("rgb(100, 100, 100)")).toBe("dark");
    expect(rgbaOf("rgba(1, 2, 3, 0.5)")).toEqual([1, 2, 3, 0.5]);
  });
});
