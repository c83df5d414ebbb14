// Buttons of a header: a picture with its words in the title.

import { Icon, type IconName } from "../ui/icons";
import type { Choice } from "./theme";

interface IconButtonProps {
  name: IconName;
  label: string;
  keys?: string;
  disabled?: boolean;
  isPressed?: boolean;
  press(): void;
}

export function IconButton({ name, label, keys, disabled, isPressed, press }: IconButtonProps) {
  return (
    <button
      type="button"
      class="btn icon quiet"
      aria-label={label}
      aria-pressed={isPressed}
      data-tip={keys ? `${label} (${keys})` : label}
      aria-disabled={disabled}
      onClick={() => disabled || press()}
    >
      <Icon name={name} />
    </button>
  );
}

const THEMES = {
  auto: { name: "contrast", label: "Theme: as the page" },
  light: { name: "sun", label: "Theme: light" },
  dark: { name: "moon", label: "Theme: dark" },
} as const;

/** One choice for all views of the page; each press takes the next. */
export function ThemeButton({ choice, next }: { choice: Choice; next(): void }) {
  return <IconButton {...THEMES[choice]} press={next} />;
}
