// Light or dark: as the surface that the view stands on, unless the reader chose one for all views.

import { signal } from "@preact/signals";
import type { RefObject } from "preact";
import { useLayoutEffect, useState } from "preact/hooks";

export type Choice = Theme | "auto";

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

export function useTheme(root: RefObject<HTMLElement | null>) {
  const [state] = useState(() => ({
    theme: signal<Theme>(themeOf(surfaceOf(document.body))),
    choice: signal<Choice>(chosen()),
    /** Whether the colours that the host names are of the other theme. */
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
  /** The next of auto, light, dark, for every view of the page. */
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

export type Theme = "light" | "dark";

type Rgba = readonly [red: number, green: number, blue: number, alpha: number];

const OPAQUE = 0.5;

/** The first ground behind an element that is not mostly transparent, or what a host says it is. */
export function surfaceOf(element: Element): string | null {
  for (let at: Element | null = around(element); at; at = around(at)) {
    const { backgroundColor } = getComputedStyle(at);
    if (rgbaOf(backgroundColor)[3] > OPAQUE) return backgroundColor;
  }
  // A frame of VS Code is transparent: its colours are variables.
  const root = getComputedStyle(document.documentElement);
  return root.getPropertyValue("--vscode-editor-background").trim() || canvasOf(schemeOf(root));
}

/** What a page allows: by its style, else by its head. */
function schemeOf(root: CSSStyleDeclaration): string {
  if (root.colorScheme && root.colorScheme !== "normal") return root.colorScheme;
  return document.querySelector<HTMLMetaElement>("meta[name=color-scheme]")?.content ?? "";
}

function around(element: Element): Element | null {
  if (element.parentElement) return element.parentElement;
  const root = element.getRootNode();
  return root instanceof ShadowRoot ? root.host : null;
}

/** The browser's own ground: dark only where the page allows it and the system asks for it. */
function canvasOf(scheme: string): string | null {
  const words = scheme.split(" ");
  if (!words.includes("dark")) return null;
  if (!words.includes("light")) return "rgb(0, 0, 0)";
  return matchMedia("(prefers-color-scheme: dark)").matches ? "rgb(0, 0, 0)" : null;
}

/** Whether a ground asks for light letters; none is a white page. */
export function themeOf(colour: string | null): Theme {
  if (colour === null) return "light";
  const [red, green, blue] = rgbaOf(colour).map(linear);
  const luminance = 0.2126 * red! + 0.7152 * green! + 0.0722 * blue!;
  // Where black letters and white ones have the same contrast (WCAG 2).
  return luminance < Math.sqrt(1.05 * 0.05) - 0.05 ? "dark" : "light";
}

function linear(value: number): number {
  const part = value / 255;
  return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
}

/** Of any colour that CSS knows; the usual kind without a canvas. */
export function rgbaOf(colour: string): Rgba {
  const usual = /^rgba?\(([\d.]+), ([\d.]+), ([\d.]+)(?:, ([\d.]+))?\)$/.exec(colour);
  if (usual) return [+usual[1]!, +usual[2]!, +usual[3]!, +(usual[4] ?? 1)];
  const pixel = document.createElement("canvas").getContext("2d");
  if (!pixel) return [255, 255, 255, 0];
  pixel.fillStyle = "transparent"; // stays where a colour is not understood
  pixel.fillStyle = colour;
  pixel.fillRect(0, 0, 1, 1);
  const [red, green, blue, alpha] = pixel.getImageData(0, 0, 1, 1).data;
  return [red!, green!, blue!, alpha! / 255];
}
