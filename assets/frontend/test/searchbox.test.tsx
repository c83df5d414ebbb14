// @vitest-environment happy-dom

import { createRef, render } from "preact";
import { act } from "preact/test-utils";
import { expect, test } from "vitest";
import { pageHost } from "../src/host";
import { PANES } from "../src/panes";
import { Header } from "../src/shell/header";
import { Store } from "../src/store";
import type { Embedded } from "../src/wire";
import sample from "./sample.json";

function opened(): { store: Store; field: HTMLInputElement } {
  const store = new Store(pageHost(sample as unknown as Embedded), PANES);
  const box = document.createElement("div");
  const search = createRef<HTMLInputElement>();
  render(<Header store={store} search={search} />, box);
  return { store, field: search.current! };
}

/** Types into the field and presses Enter. */
async function enter(field: HTMLInputElement, words: string): Promise<void> {
  await act(() => {
    field.value = words;
    field.dispatchEvent(new Event("input", { bubbles: true }));
  });
  await act(() => {
    field.dispatchEvent(new KeyboardEvent("keydown", { key: "Enter", bubbles: true }));
  });
}

test("the name of a pane and Enter lead to it, and nothing is selected", async () => {
  const { store, field } = opened();
  for (const { id, title } of store.doc.value!.panes) {
    await enter(field, title.toLowerCase());
    expect(store.pane.value).toBe(id);
  }
  expect(store.selected.value).toBe(null);
});

test("what is no pane is selected as before", async () => {
  const { store, field } = opened();
  await enter(field, "softmax");
  expect(store.selected.value).toMatch(/^L:/);
});
