import { expect, test } from "vitest";
import { PaneStates } from "../src/panestates";

test("what a pane keeps is there again, and other panes have their own", () => {
  const paneStates = new PaneStates();
  const words = paneStates.signal("breaks", "words", () => "");
  words.value = "weight";
  expect(paneStates.signal("breaks", "words", () => "").value).toBe("weight");
  expect(paneStates.signal("fusion", "words", () => "").value).toBe("");
});

test("a value is made once, when it is first asked for", () => {
  const paneStates = new PaneStates();
  let made = 0;
  const make = () => ({ number: (made += 1) });
  const first = paneStates.keep("graphs", "views", make);
  expect(paneStates.keep("graphs", "views", make)).toBe(first);
  expect(made).toBe(1);
});

test("each view remembers for itself, and what is nothing is kept as well", () => {
  const [one, other] = [new PaneStates(), new PaneStates()];
  one.signal<string | null>("timeline", "zoom", () => "all").value = null;
  expect(one.signal<string | null>("timeline", "zoom", () => "all").value).toBe(null);
  expect(other.signal<string | null>("timeline", "zoom", () => "all").value).toBe("all");
});
