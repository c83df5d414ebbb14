import { expect, test } from "vitest";
import { BlocksState } from "../src/blocks/page";
import { pageHost } from "../src/host";
import { PANES } from "../src/panes";
import { Store } from "../src/store";
import { columnsOf } from "../src/table/columns";
import { termOf } from "../src/ui/terms";
import type { Embedded, Terms } from "../src/wire";
import sample from "./sample.json";

const SAMPLE = sample as unknown as Embedded;

function open(terms: Terms): Store {
  return new Store(pageHost({ ...SAMPLE, document: { ...SAMPLE.document, terms } }), PANES);
}

test("a word of this package has a tip of three lines at most", () => {
  expect(termOf("points", "Per byte")).toBe(
    "Arithmetic intensity: operations per byte moved.\nUnit: operations per byte.\nSource: both estimates.",
  );
  expect(termOf("points", "no such word")).toBe(undefined);
});

test("the words of a world of another package come with the document", () => {
  expect(termOf("stars", "Brightness")).toBe(undefined);
  const store = open({
    stars: { Brightness: ["How bright it is", "mag"], "*": ["The name of a star"] },
  });
  expect(termOf("stars", "Brightness")).toBe("How bright it is.\nUnit: mag.");
  expect(termOf("stars", "Sirius")).toBe("The name of a star.");
  const spec = { key: "brightness", title: "Brightness", width: "80px", hint: "Of its disc" };
  expect(columnsOf(store, "stars", [spec], [], {})[0]!.tip).toMatch(/^How bright it is/);
});

test("a document of blocks brings them as well", () => {
  new BlocksState({ title: "Sky", facts: "", blocks: [], terms: { sky: { Clear: ["No cloud"] } } });
  expect(termOf("sky", "Clear")).toBe("No cloud.");
});

test("they change no word of this package", () => {
  const before = termOf("points", "Per byte");
  open({ points: { "Per byte": ["Something else"] }, anywhere: { Star: ["Anything"] } });
  expect(termOf("points", "Per byte")).toBe(before);
  expect(termOf("kernels", "Star")).toBe(undefined);
});
