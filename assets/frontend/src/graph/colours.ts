// The tokens of the view as the canvas needs them, read at each draw so that a theme is followed.

export interface Colours {
  bg: string;
  fg: string;
  fg2: string;
  control: string;
  sel: string;
  selBg: string;
  relBg: string;
  fallback: string;
  heat: string;
  added: string;
  addedBg: string;
  removed: string;
  removedBg: string;
  replaced: string;
  replacedBg: string;
  palette: string[];
  mono: string;
  ui: string;
}

const NAMES = {
  bg: "--bg",
  fg: "--fg",
  fg2: "--fg-2",
  control: "--control",
  sel: "--sel",
  selBg: "--sel-bg",
  relBg: "--rel-bg",
  fallback: "--fallback",
  heat: "--heat",
  added: "--captured",
  addedBg: "--captured-bg",
  removed: "--break",
  removedBg: "--break-bg",
  replaced: "--folded",
  replacedBg: "--folded-bg",
  mono: "--mono",
  ui: "--ui",
} as const;

const PALETTE = 8;

export function readColours(element: Element): Colours {
  const style = getComputedStyle(element);
  const read = (name: string) => style.getPropertyValue(name).trim();
  const named = Object.fromEntries(Object.entries(NAMES).map(([key, name]) => [key, read(name)]));
  const palette = Array.from({ length: PALETTE }, (_, at) => read(`--g${at}`));
  return { ...(named as Omit<Colours, "palette">), palette };
}

/** The colour of a kernel's mark: `g0` to `g7`, a library call or a fallback. */
export function markColour(colours: Colours, mark: string | undefined): string {
  if (mark === "fb") return colours.fallback;
  const index = mark && /^g\d$/.test(mark) ? Number(mark.slice(1)) : -1;
  return colours.palette[index] ?? colours.control;
}
