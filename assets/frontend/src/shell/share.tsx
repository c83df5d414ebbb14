// The button that saves what is shown as a page, for a reader who has no Jupyter.

import { useState } from "preact/hooks";
import type { Host } from "../host";
import { saveFile } from "../ui/savefile";
import type { SavedPage } from "../wire";
import { IconButton } from "./buttons";

const WORDS = "Save as a page that opens without Jupyter";
const ASLEEP = "To save a page, run the cell again: report.to_html(PATH) needs its session";

/** A page that was saved is the file already, so it has no button. */
export function ShareButton({ host }: { host: Host }) {
  const [state, setState] = useState<"idle" | "busy" | { why: string }>("idle");
  if (host.kind === "page") return null;
  const isAsleep = host.kind === "saved" || !host.document.value;
  const save = () => {
    setState("busy");
    host.part<SavedPage>("page").then(
      ({ name, html }) => {
        saveFile(html, name, "text/html");
        setState("idle");
      },
      (error: Error) => setState({ why: error.message }),
    );
  };
  const why = typeof state === "object" ? state.why : null;
  const label = state === "busy" ? "Making the page…" : host.kind === "saved" ? ASLEEP : WORDS;
  return (
    <>
      {why && (
        <span class="mut cut" role="alert" data-tip={why}>
          {why}
        </span>
      )}
      <IconButton name="save" label={label} disabled={isAsleep || state === "busy"} press={save} />
    </>
  );
}
