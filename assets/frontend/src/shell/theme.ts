// Light or dark: JupyterLab's own word where there is one, else the reader's, else the system's.

import { signal, type ReadonlySignal } from "@preact/signals";
import { useEffect, useState } from "preact/hooks";

export type Theme = "light" | "dark";

interface ThemeSource {
  theme: ReadonlySignal<Theme>;
  /** Turns it round; null where the host decides. */
  toggle: (() => void) | null;
}

const LAB = "data-jp-theme-light";

function fromLab(): Theme | null {
  const word = document.body.getAttribute(LAB);
  return word === null ? null : word === "false" ? "dark" : "light";
}

export function useTheme(): ThemeSource {
  const [theme] = useState(() => signal<Theme>("light"));
  const [chosen] = useState(() => signal<Theme | null>(null));
  const [isLab] = useState(() => fromLab() !== null);
  useState(() => (theme.value = fromLab() ?? fromSystem()));
  useEffect(() => {
    const system = matchMedia("(prefers-color-scheme: dark)");
    const look = () => (theme.value = fromLab() ?? chosen.value ?? fromSystem());
    const body = new MutationObserver(look);
    body.observe(document.body, { attributes: true, attributeFilter: [LAB] });
    system.addEventListener("change", look);
    look();
    return () => {
      body.disconnect();
      system.removeEventListener("change", look);
    };
  }, []);
  const toggle = () => {
    chosen.value = theme.value === "dark" ? "light" : "dark";
    theme.value = chosen.value;
  };
  return { theme, toggle: isLab ? null : toggle };
}

function fromSystem(): Theme {
  return matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
}
