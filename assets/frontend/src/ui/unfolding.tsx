// A button that unfolds a list over what is below it; Escape or leaving it closes it.

import type { ComponentChildren } from "preact";
import { useRef, useState } from "preact/hooks";
import { Icon } from "./icons";

interface UnfoldingProps {
  class: string;
  words: string;
  /** Its name where its words are a sign. */
  label?: string;
  children: ComponentChildren;
}

export function Unfolding(props: UnfoldingProps) {
  const [isOpen, open] = useState(false);
  const root = useRef<HTMLDivElement>(null);
  const press = (event: KeyboardEvent) => {
    if (event.key !== "Escape" || !isOpen) return;
    event.preventDefault();
    event.stopPropagation();
    open(false);
    root.current?.querySelector("button")?.focus();
  };
  const leave = (event: FocusEvent) => {
    if (!root.current?.contains(event.relatedTarget as Node | null)) open(false);
  };
  return (
    <div ref={root} class={`unfolding ${props.class}`} onKeyDown={press} onFocusOut={leave}>
      <button
        type="button"
        class="vacant"
        aria-label={props.label}
        data-tip={props.label}
        aria-expanded={isOpen}
        onClick={() => open(!isOpen)}
      >
        {props.words}
        {!props.label && <Icon name="down" />}
      </button>
      {isOpen && <div class="unfolded">{props.children}</div>}
    </div>
  );
}
