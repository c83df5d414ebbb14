// A record in the place of the view that it was opened from, and the way back.

import type { ComponentChildren } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";
import { DiffShell } from "../diff/shell";
import type { FrameRoot } from "../shell/frame";
import { Shell } from "../shell/shell";
import { useTheme } from "../shell/theme";
import { useLate } from "../ui/asked";
import { Problem } from "../ui/basics";
import { Icon } from "../ui/icons";
import "./opened.css";
import type { Opened, Opening } from "./state";

const LATE_MS = 2000;

interface Props {
  opening: Opening;
  /** What the button of the way back says. */
  all: string;
  /** Draws the view itself, which stays while a record is open. */
  children(isHidden: boolean): ComponentChildren;
}

export function Openable({ opening, all, children }: Props) {
  const opened = opening.opened.value;
  return (
    <>
      {opened && <Row opening={opening} opened={opened} all={all} />}
      <div hidden={opened !== null}>{children(opened !== null)}</div>
    </>
  );
}

/** Gives the focus back to the table when a record is closed. */
export function useReturn({ root }: FrameRoot, isHidden: boolean): void {
  const wasHidden = useRef(false);
  useLayoutEffect(() => {
    if (wasHidden.current && !isHidden)
      root.current?.querySelector<HTMLElement>("[role=grid]")?.focus({ preventScroll: true });
    wasHidden.current = isHidden;
  }, [isHidden]);
}

/** One row, or two compared, with the way back. */
function Row({ opening, opened, all }: { opening: Opening; opened: Opened; all: string }) {
  const root = useRef<HTMLDivElement>(null);
  const { theme, isOwn } = useTheme(root);
  const look = { theme: theme.value, isOwn: isOwn.value };
  const back = useRef<HTMLButtonElement>(null);
  useLayoutEffect(() => back.current?.focus({ preventScroll: true }), []);
  const leave = (event: KeyboardEvent) => {
    if (event.key !== "Escape" || event.defaultPrevented) return;
    event.stopPropagation();
    opening.back();
  };
  return (
    <div ref={root} onKeyDown={leave}>
      <Slip {...look} kind="opened-back">
        <button ref={back} type="button" class="btn" onClick={() => opening.back()}>
          <Icon name="left" />
          {all}
        </button>
        <b class="cut mono">{opened.title}</b>
      </Slip>
      {opened.kind === "report" && <Shell store={opened.store} />}
      {opened.kind === "diff" && <DiffShell state={opened.state} />}
      {opened.kind === "asked" && (
        <Slip {...look} kind="opened-wait">
          <Asked />
        </Slip>
      )}
      {opened.kind === "failed" && (
        <Slip {...look} kind="opened-wait">
          <Problem title="The report could not be opened." text={opened.text} />
        </Slip>
      )}
    </div>
  );
}

function Slip({ theme, isOwn, kind, children }: SlipProps) {
  return (
    <div class={`wb ${kind}`} data-theme={theme} data-own={isOwn || undefined}>
      {children}
    </div>
  );
}

interface SlipProps {
  theme: string;
  isOwn: boolean;
  kind: string;
  children: ComponentChildren;
}

function Asked() {
  const isLate = useLate(true, LATE_MS);
  return (
    <p class="row">
      <span class="spin" aria-hidden="true" />
      {isLate ? "The kernel is busy; the report opens when it answers." : "Opening the report…"}
    </p>
  );
}
