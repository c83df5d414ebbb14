// The colour that a view stands on, as the browser resolved it.

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
  return root.getPropertyValue("--vscode-editor-background").trim() || canvasOf(root.colorScheme);
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
