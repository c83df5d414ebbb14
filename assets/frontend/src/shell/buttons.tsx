// Buttons of a header: a picture with its words in the title.

import { Icon, type IconName } from "../ui/icons";

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
      disabled={disabled}
      onClick={press}
    >
      <Icon name={name} />
    </button>
  );
}

/** Where the host has no theme of its own. */
export function ThemeButton({ isDark, toggle }: { isDark: boolean; toggle: (() => void) | null }) {
  if (!toggle) return null;
  return (
    <IconButton
      name={isDark ? "sun" : "moon"}
      label={isDark ? "Light theme" : "Dark theme"}
      press={toggle}
    />
  );
}
