// Whether the kernel of a view is still there, as far as the frontend around it tells.

import type { Signal } from "@preact/signals";
import type { Model } from "./model";

export const STOPPED =
  "The kernel has stopped, so live actions are off. The report stays; run the cell again to go on.";
export const AWAY = "The kernel cannot be reached, so live actions are off. The report stays.";
/** Where nothing around the view tells of the kernel. */
export const SILENT =
  "The kernel has not answered for 10 s: it is busy or has stopped. The report stays; live actions are off until it answers.";
export const SILENT_MS = 10_000;

/** In the place of what only Python makes, and nobody had asked for. */
export const UNSEEN = "This was not loaded before the kernel stopped. Run the cell again.";

/** Of a kernel that does not come back as it was: its memory is gone. */
const ENDS = new Set(["restarting", "autorestarting", "terminating", "dead"]);
const AWAY_MS = 2000;

interface Told<Word> {
  connect(hear: (from: unknown, word: Word) => void): unknown;
  disconnect(hear: (from: unknown, word: Word) => void): unknown;
}

/** The parts of JupyterLab's manager of widgets that are looked at; other frontends lack some. */
interface Manager {
  kernel?: {
    statusChanged?: Told<string>;
    connectionStatusChanged?: Told<string>;
    disposed?: Told<unknown>;
  } | null;
  get_model?(id: string): Promise<{ comm_live?: boolean } | undefined> | undefined;
}

/** Whether the frontend around the view tells when its kernel ends: marimo, for one, does not. */
export function isToldOfEnds(model: Model): boolean {
  return !!(model.widget_manager as Manager | undefined)?.kernel;
}

/**
 * Writes into `lost` why the kernel does not answer, until the function that comes back is called.
 *
 * All managers of ipywidgets tell a model when its comm is cut, which JupyterLab does when a kernel
 * restarts, by whomever. One that is shut down only says so itself; one that is far away comes back.
 */
export function watchKernel(model: Model, lost: Signal<string | null>): () => void {
  const manager = model.widget_manager as Manager | undefined;
  const kernel = manager?.kernel;
  let timer: ReturnType<typeof setTimeout> | undefined;
  const stop = () => (lost.value = STOPPED);
  const hearStatus = (_: unknown, status: string) => {
    if (ENDS.has(status)) stop();
  };
  const hearConnection = (_: unknown, status: string) => {
    clearTimeout(timer);
    if (status !== "connected") timer = setTimeout(() => (lost.value ??= AWAY), AWAY_MS);
    else if (lost.peek() === AWAY) lost.value = null;
  };
  const look = () => void commIsLive(model, manager).then((isLive) => isLive === false && stop());
  kernel?.statusChanged?.connect(hearStatus);
  kernel?.connectionStatusChanged?.connect(hearConnection);
  kernel?.disposed?.connect(stop);
  model.on("comm_live_update", look);
  return () => {
    clearTimeout(timer);
    kernel?.statusChanged?.disconnect(hearStatus);
    kernel?.connectionStatusChanged?.disconnect(hearConnection);
    kernel?.disposed?.disconnect(stop);
    model.off("comm_live_update", look);
  };
}

/**
 * Whether messages reach the kernel; undefined where that cannot be seen. anywidget hides it of the
 * model itself; the front end's is cut at the same time.
 */
async function commIsLive(model: Model, manager?: Manager): Promise<boolean | undefined> {
  const id = String(model.get("front_end")).replace("IPY_MODEL_", "");
  return (await manager?.get_model?.(id))?.comm_live;
}
