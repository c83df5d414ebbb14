// The keys of a view and their list: single ones act only when focus is inside and not in a field.

import { useEffect, useRef } from "preact/hooks";
import { Button } from "../ui/basics";

/** The keys of the panes, as they lie beside one another: 0 is the tenth, then -, =, ` and \. */
const DIGITS = "1234567890-=`\\;";

/** What a field takes for itself. */
function isField(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false;
  if (target.isContentEditable) return true;
  return ["INPUT", "TEXTAREA", "SELECT"].includes(target.tagName);
}

/**
 * Whether a key that was pressed in a view is for the view alone. Also those that it does not
 * answer: in a notebook `x` cuts the cell, `b` inserts one, `0 0` starts the kernel again. What
 * runs a cell or holds Ctrl or ⌘ stays the notebook's.
 */
export function isQuiet(event: KeyboardEvent): boolean {
  if (event.ctrlKey || event.metaKey) return false;
  if (event.altKey) return event.key === "ArrowLeft" || event.key === "ArrowRight";
  return !(event.key === "Enter" && event.shiftKey) && !/^F\d/.test(event.key);
}

const SUPPRESS = "data-lm-suppress-shortcuts";

/** Keeps the notebook around a view from acting on its keys, until the function is called. */
export function quiet(el: HTMLElement): () => void {
  const ending = new AbortController();
  const mark = (event: KeyboardEvent) => {
    // On what has the focus itself: a shortcut of `:focus` is looked for there first.
    if (event.composedPath().includes(el) && event.target instanceof Element)
      event.target.toggleAttribute(SUPPRESS, isQuiet(event));
  };
  // Notebook 7 listens on the document while the event comes down, so this must be earlier;
  // JupyterLab and others listen where it has come up.
  window.addEventListener("keydown", mark, { capture: true, signal: ending.signal });
  const stop = (event: KeyboardEvent) => isQuiet(event) && event.stopPropagation();
  for (const kind of ["keydown", "keypress", "keyup"] as const)
    el.addEventListener(kind, stop, { signal: ending.signal });
  return () => ending.abort();
}

/** What a view answers: panes by their digit, its help, and further keys of its own. */
export interface Keys {
  tabs: readonly { id: string }[];
  show(pane: string): void;
  help(): void;
  /** Whether the view has answered a key; `event.altKey` may be set. */
  press?: ((event: KeyboardEvent) => boolean) | undefined;
}

/** Answers a key that no part of the view has answered. */
export function press(event: KeyboardEvent, view: Keys): void {
  if (event.defaultPrevented || event.ctrlKey || event.metaKey) return;
  if (event.target instanceof Element && event.target.closest("dialog")) return;
  if (isField(event.target) && !event.altKey) return;
  const tab = event.altKey
    ? undefined
    : view.tabs[event.key.length === 1 ? DIGITS.indexOf(event.key) : -1];
  if (tab) view.show(tab.id);
  else if (event.key === "?" && !event.altKey) view.help();
  else if (!view.press?.(event)) return;
  event.preventDefault();
}

/** The key of a pane by its place from 1. */
export function keyOf(place: number): string {
  return DIGITS[place - 1] ?? "";
}

/** Whether Enter presses what has the focus. */
export function isPressable(target: EventTarget | null): boolean {
  return target instanceof HTMLElement && target.closest("button, a, summary, select") !== null;
}

/** Keys and what they do; `isRange` where the two stand for all between them. */
export interface KeyWords {
  keys: readonly string[];
  words: string;
  isRange?: boolean;
}

interface HelpProps {
  keys: readonly KeyWords[];
  isOpen: boolean;
  close(): void;
}

export function Help({ keys: all, isOpen, close }: HelpProps) {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    if (isOpen && !dialog.current?.open) dialog.current?.showModal();
    if (!isOpen) dialog.current?.close();
  }, [isOpen]);
  return (
    <dialog ref={dialog} aria-label="Keyboard" onClose={close}>
      <h2>Keyboard</h2>
      <dl class="keys">
        {all.map(({ keys, words, isRange }) => (
          <>
            <dt>
              {keys.map((key, i) => (
                <>
                  {isRange && i ? " to " : " "}
                  <kbd>{key}</kbd>
                </>
              ))}
            </dt>
            <dd>{words}</dd>
          </>
        ))}
      </dl>
      <p class="mut">
        Single-key shortcuts work while the focus is in the view, outside text fields.
      </p>
      <Button press={close}>Close</Button>
    </dialog>
  );
}
