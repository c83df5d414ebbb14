import { expect, test } from "vitest";
import { Memory } from "../src/memory";

test("what a pane keeps is there again, and other panes have their own", () => {
  const memory = new Memory();
  const words = memory.signal("breaks", "words", () => "");
  words.value = "weight";
  expect(memory.signal("breaks", "words", () => "").value).toBe("weight");
  expect(memory.signal("fusion", "words", () => "").value).toBe("");
});

test("a value is made once, when it is first asked for", () => {
  const memory = new Memory();
  let made = 0;
  const make = () => ({ number: (made += 1) });
  const first = memory.keep("graphs", "views", make);
  expect(memory.keep("graphs", "views", make)).toBe(first);
  expect(made).toBe(1);
});

test("each view remembers for itself, and what is nothing is kept as well", () => {
  const [one, other] = [new Memory(), new Memory()];
  one.signal<string | null>("timeline", "zoom", () => "all").value = null;
  expect(one.signal<string | null>("timeline", "zoom", () => "all").value).toBe(null);
  expect(other.signal<string | null>("timeline", "zoom", () => "all").value).toBe("all");
});
