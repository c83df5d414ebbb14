// The menu of a view: what is needed now and then, each with its words and its key.

import type { ComponentChildren } from "preact";
import { Icon, type IconName } from "../ui/icons";
import { Unfolding } from "../ui/unfolding";
import type { Choice } from "./theme";

export function Menu({ children }: { children: ComponentChildren }) {
  return (
    <Unfolding class="menu" words="⋯" label="Menu">
      {children}
    </Unfolding>
  );
}

interface ItemProps {
  name: IconName;
  label: string;
  keys?: string;
  tip?: string | undefined;
  disabled?: boolean;
  isPressed?: boolean;
  look?: string;
  press(): void;
}

export function MenuItem({ name, label, keys, tip, disabled, isPressed, look, press }: ItemProps) {
  return (
    <button
      type="button"
      class={look}
      data-tip={tip}
      aria-pressed={isPressed}
      aria-disabled={disabled}
      onClick={() => disabled || press()}
    >
      <Icon name={name} />
      <span class="grow">{label}</span>
      {keys && <kbd aria-hidden="true">{keys}</kbd>}
    </button>
  );
}

const THEMES = {
  auto: { name: "contrast", label: "Theme: as the page" },
  light: { name: "sun", label: "Theme: light" },
  dark: { name: "moon", label: "Theme: dark" },
} as const;

/** One choice for all views of the page; each press takes the next. */
export function ThemeItem({ choice, next }: { choice: Choice; next(): void }) {
  return <MenuItem {...THEMES[choice]} press={next} />;
}
