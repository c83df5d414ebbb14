// The five questions with their answers, the panes of the one that is open, and the experts' row.

import type { Store } from "../store";
import { Icon } from "../ui/icons";
import { type PaneHead, QUESTIONS, type Question } from "../wire";
import { enterPane } from "./keeping";
import type { Tab } from "./tabs";

/** The experts' panes by their keys; those of other packages have none. */
const EXPERTS: Readonly<Record<string, string>> = {
  g: "graphs",
  k: "kernels",
  t: "timeline",
  u: "autotune",
  a: "tables",
};

/** Before there is a document: the titles alone. */
const COMING: readonly Question[] = Object.entries(QUESTIONS).map(([id, title]) => ({
  id,
  title,
  answer: "…",
  tone: "plain",
  is_answered: false,
  panes: [],
}));

export function questionsOf(store: Store): readonly Question[] {
  return store.doc.value?.questions ?? COMING;
}

/** The question that a pane belongs to; none for the experts' panes. */
export function questionOf(store: Store, pane: string): Question | undefined {
  return questionsOf(store).find(({ panes }) => panes.includes(pane));
}

/** The panes that no question holds, in the order of their keys. */
export function expertsOf(store: Store): readonly PaneHead[] {
  const heads = store.doc.value?.panes ?? [];
  const keys = Object.values(EXPERTS);
  const place = ({ id }: PaneHead) => (keys.includes(id) ? keys.indexOf(id) : keys.length);
  return heads
    .filter(({ id }) => !questionOf(store, id))
    .sort((one, other) => place(one) - place(other));
}

/** The key that shows a pane of experts; "" where it has none. */
export function keyOfExpert(pane: string): string {
  return Object.keys(EXPERTS).find((key) => EXPERTS[key] === pane) ?? "";
}

/** Shows a question in the pane that was seen last, or in its first. */
export function showQuestion(store: Store, id: string): void {
  const panes = questionsOf(store).find((each) => each.id === id)?.panes ?? [];
  const pane = store.lastOf(panes) ?? panes[0];
  if (pane) store.show(pane);
}

/** Whether a key opens a pane of experts. */
export function pressExpert(event: KeyboardEvent, store: Store): boolean {
  const pane = EXPERTS[event.key];
  if (!pane || !expertsOf(store).some(({ id }) => id === pane)) return false;
  store.show(pane);
  return true;
}

/** Arrows go along a strip and show what they come to; down leads into the pane. */
function walkTabs(event: KeyboardEvent & { currentTarget: HTMLElement }): void {
  if (event.altKey) return;
  if (event.key === "ArrowDown") enterPane(event.currentTarget);
  else if (event.key === "ArrowRight" || event.key === "ArrowLeft") {
    const tabs = [...event.currentTarget.querySelectorAll<HTMLElement>("[role=tab]")];
    const at = tabs.findIndex((tab) => tab === event.target);
    const step = event.key === "ArrowRight" ? 1 : -1;
    const next = tabs[(at + step + tabs.length) % tabs.length];
    next?.focus();
    next?.click();
  } else return;
  event.preventDefault();
}

interface StripProps {
  store: Store;
  /** The id of the element that shows the pane. */
  panel: string;
}

export function Questions({ store, panel }: StripProps) {
  const questions = questionsOf(store);
  const pane = store.pane.value;
  const open = store.doc.value ? questionOf(store, pane) : questions[0];
  return (
    <nav class="questions" role="tablist" aria-label="Questions" onKeyDown={walkTabs}>
      {questions.map((question, at) => (
        <button
          key={question.id}
          type="button"
          role="tab"
          id={`${panel}-q-${question.id}`}
          class={question.tone === "break" || question.tone === "fallback" ? question.tone : ""}
          aria-selected={question === open}
          aria-controls={panel}
          tabIndex={question === open || (!open && at === 0) ? 0 : -1}
          data-panes={question.panes.join(" ")}
          data-tip={`${question.title} ${question.answer} (${at + 1})`}
          onClick={() => showQuestion(store, question.id)}
        >
          <span>{question.title}</span>
          <b class={question.is_answered ? "" : "open"}>
            {question.tone === "break" && <Icon name="break" />}
            {question.answer}
          </b>
        </button>
      ))}
    </nav>
  );
}

/** The panes of the open question as tabs: those that hold something, then those to fill. */
export function partsOf(store: Store): readonly Tab[] {
  const question = questionOf(store, store.pane.value);
  return (question?.panes ?? []).flatMap((id) => tabOf(store, id));
}

function tabOf(store: Store, id: string): Tab[] {
  const head = store.row("panes", id);
  if (!head) return [];
  const { title, count, is_problem, empty } = head;
  const canFill = store.doc.value?.file.can_save; // nothing fills what failed or was only told of
  const isVacant = empty && !store.registration(id).isHome;
  const offer = empty?.offer ?? (canFill ? store.registration(id).offer : undefined);
  return [
    { id, title, count, isProblem: is_problem, ...(isVacant && { vacant: empty.title, offer }) },
  ];
}

export function Experts({ store, panel }: StripProps) {
  const here = store.pane.value;
  const heads = expertsOf(store);
  if (!heads.length) return null;
  const isElsewhere = !heads.some(({ id }) => id === here);
  return (
    <nav class="experts" role="tablist" aria-label="Experts" onKeyDown={walkTabs}>
      {heads.map(({ id, title, count, empty }, at) => {
        const key = keyOfExpert(id);
        const words = empty?.title ?? title;
        return (
          <button
            key={id}
            type="button"
            role="tab"
            id={`${panel}-${id}`}
            class={empty ? "vacant" : ""}
            aria-selected={id === here}
            aria-controls={panel}
            tabIndex={id === here || (isElsewhere && at === 0) ? 0 : -1}
            data-tip={key ? `${words} (${key})` : words}
            onClick={() => store.show(id)}
          >
            {title}
            {!!count && <span class="n">{count}</span>}
          </button>
        );
      })}
    </nav>
  );
}
