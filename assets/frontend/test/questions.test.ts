import { expect, test } from "vitest";
import { pageHost } from "../src/host";
import { PANES } from "../src/panes";
import { expertsOf, keyOfExpert, questionOf, showQuestion } from "../src/shell/questions";
import { Store } from "../src/store";
import type { Embedded, Question } from "../src/wire";
import sample from "./sample.json";

const QUESTIONS: Question[] = [
  ["time", ["overview", "fusion"]],
  ["fit", ["memory"]],
].map(([id, panes]) => ({
  ...{ id: id as string, panes: panes as string[] },
  ...{ title: "", answer: "", tone: "plain", is_answered: true },
}));

function opened(): Store {
  const embedded = structuredClone(sample) as unknown as Embedded;
  embedded.document.questions = QUESTIONS;
  return new Store(pageHost(embedded), PANES);
}

test("a question opens its first pane, and later the one that was seen last", () => {
  const store = opened();
  showQuestion(store, "fit");
  expect(store.pane.value).toBe("memory");
  showQuestion(store, "time");
  expect(store.pane.value).toBe("overview");
  expect(questionOf(store, "fusion")?.id).toBe("time");
  store.show("fusion");
  showQuestion(store, "fit");
  showQuestion(store, "time");
  expect(store.pane.value).toBe("fusion");
});

test("panes of no question are the experts', those with a key first", () => {
  const experts = expertsOf(opened()).map(({ id }) => id);
  expect(experts).not.toContain("memory");
  expect(experts.slice(0, 2)).toEqual(["graphs", "kernels"]);
  expect(keyOfExpert("graphs")).toBe("g");
  expect(keyOfExpert("stars")).toBe("");
});
