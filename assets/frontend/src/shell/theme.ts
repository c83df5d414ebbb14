// Light or dark: as the surface that the view stands on, unless the reader chose one for all views.

import { signal, type ReadonlySignal } from "@preact/signals";
import { useLayoutEffect, useState } from "preact/hooks";
import type { RefObject } from "preact";
import { surfaceOf, themeOf, type Theme } from "./surface";

export type Choice = Theme | "auto";

interface ThemeSource {
  theme: ReadonlySignal<Theme>;
  choice: ReadonlySignal<Choice>;
  /** Whether the colours that the host names are of the other theme. */
  isOwn: ReadonlySignal<boolean>;
  /** The next of auto, light, dark, for every view of the page. */
  next(): void;
}

const KEY = "workbench-theme";
/** Where the views of a page, which may be of several bundles, see each other's choice. */
const SHARED = "wbTheme";
const ORDER: readonly Choice[] = ["auto", "light", "dark"];
const FADE = 300; // milliseconds: a host may change its colours slowly

function asChoice(word: string | null | undefined): Choice {
  return word === "light" || word === "dark" ? word : "auto";
}

/** What was chosen on this page, else what was remembered; a sandboxed frame remembers nothing. */
function chosen(): Choice {
  const here = document.documentElement.dataset[SHARED];
  if (here) return asChoice(here);
  try {
    return asChoice(localStorage.getItem(KEY));
  } catch {
    return "auto";
  }
}

function choose(choice: Choice): void {
  document.documentElement.dataset[SHARED] = choice; // every view watches this element
  try {
    localStorage.setItem(KEY, choice);
  } catch {
    // Where a frame may store nothing, the choice holds as long as the page.
  }
}

export function useTheme(root: RefObject<HTMLElement | null>): ThemeSource {
  const [state] = useState(() => ({
    theme: signal<Theme>(themeOf(surfaceOf(document.body))),
    choice: signal<Choice>(chosen()),
    isOwn: signal(false),
  }));
  useLayoutEffect(() => {
    const element = root.current?.parentElement ?? document.body;
    const look = () => {
      const choice = chosen();
      const surface = themeOf(surfaceOf(root.current ?? element));
      const theme = choice === "auto" ? surface : choice;
      const named = colourNamed(element);
      state.choice.value = choice;
      state.theme.value = theme;
      state.isOwn.value = named !== null && named !== theme;
    };
    let fading = 0;
    const changed = () => {
      look();
      clearTimeout(fading);
      fading = window.setTimeout(look, FADE);
    };
    const system = matchMedia("(prefers-color-scheme: dark)");
    const watch = new MutationObserver(changed);
    for (const each of [document.documentElement, document.body])
      watch.observe(each, { attributes: true });
    system.addEventListener("change", changed);
    window.addEventListener("storage", look);
    look();
    return () => {
      clearTimeout(fading);
      watch.disconnect();
      system.removeEventListener("change", changed);
      window.removeEventListener("storage", look);
    };
  }, []);
  const next = () => choose(ORDER[(ORDER.indexOf(chosen()) + 1) % ORDER.length]!);
  return { ...state, next };
}

/** The theme of the surface that JupyterLab's variables name here; null where there are none. */
function colourNamed(place: HTMLElement): Theme | null {
  if (!getComputedStyle(place).getPropertyValue("--jp-layout-color1")) return null;
  const probe = document.createElement("i");
  probe.style.cssText = "display: none; background: var(--jp-layout-color1)";
  place.append(probe);
  const colour = getComputedStyle(probe).backgroundColor;
  probe.remove();
  return themeOf(colour);
}
