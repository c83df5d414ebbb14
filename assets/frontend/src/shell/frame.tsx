// The frame of every view: header, tabs, pane, status bar; beside the pane an inspector, if any.

import type { ComponentChildren, RefObject } from "preact";
import { useEffect, useId, useLayoutEffect, useRef, useState } from "preact/hooks";
import type { HasPaneStates } from "../panestates";
import { LostStrip } from "../progress/lost";
import { Border } from "../ui/dragging";
import { type Room, RoomContext, useRoom } from "../ui/size";
import { Menu, MenuItem, ThemeItem } from "./menu";
import { useKeptFocus, useKeptScroll } from "./keeping";
import { Help, type Keys, type KeyWords, press } from "./keys";
import { type Tab, Tabs } from "./tabs";
import { useTheme } from "./theme";

/** The element of a frame, and how much room it has. */
export interface FrameRoot {
  root: RefObject<HTMLDivElement | null>;
  room: Room;
  isScarce: boolean;
  /** Of the element, in steps. */
  width: number;
}

export function useFrame(): FrameRoot {
  const root = useRef<HTMLDivElement>(null);
  return { root, ...useRoom(root) };
}

/** The panel at the right of the pane. */
export interface Beside {
  width: number;
  setWidth(width: number): void;
  panel: ComponentChildren;
}

const LEAST = 200;
const MOST = 460;
const FULL: KeyWords = { keys: ["h"], words: "full height" };

/** How high what scrolls around a view is: no more of it can be seen at once. */
function roomAround(root: HTMLElement): number {
  let around = root.parentElement;
  while (around && !/auto|scroll/.test(getComputedStyle(around).overflowY))
    around = around.parentElement;
  return Math.max(480, Math.min(around?.clientHeight ?? innerHeight, innerHeight));
}

/** How often each label is taken on this page: its views may come of several bundles. */
type Taken = Map<string, Set<number>>;
declare global {
  var wbViews: Taken | undefined;
}

/** Gives the view its label; the second of one label on a page is "…, view 2", and so on. */
function useOwnLabel(root: RefObject<HTMLElement | null>, label: string): void {
  useLayoutEffect(() => {
    const all = (globalThis.wbViews ??= new Map());
    const taken = all.get(label) ?? new Set();
    all.set(label, taken);
    let number = 1;
    while (taken.has(number)) number += 1;
    taken.add(number);
    root.current?.setAttribute("aria-label", number > 1 ? `${label}, view ${number}` : label);
    return () => void taken.delete(number);
  }, [label]);
}

/** Groups of panes: what shows them and goes to them by their number, and what names the pane. */
export interface Grouped {
  strip(panel: string): ComponentChildren;
  tabs: readonly { id: string }[];
  show(id: string): void;
  /** The end of the id of the tab that names the pane. */
  named: string;
}

interface Props {
  frame: FrameRoot;
  /** The state of the view, which keeps that of its panes. */
  view: HasPaneStates;
  /** What the view is called where it is not seen. */
  label: string;
  /** What the strip of tabs is called. */
  tabsLabel: string;
  tabs: readonly Tab[];
  show(pane: string): void;
  /** The questions above the tabs, given the id of the element that shows the pane. */
  questions?: Grouped;
  /** What stands in the header before the buttons that every view has. */
  head: ComponentChildren;
  /** What its menu has before that. */
  menu?: ComponentChildren;
  /** Between the tabs and the pane: work in the background. */
  job?: ComponentChildren;
  /** Why the kernel answers no more; this takes the place of work in the background. */
  lost?: string | null;
  /** Between the header and the tabs. */
  above?: ComponentChildren;
  beside?: Beside | null;
  /** The row below the pane; given the id of the element that shows it where it has tabs, too. */
  status: ComponentChildren | ((panel: string) => ComponentChildren);
  dialogs?: ComponentChildren;
  /** The keys of the view, as its help lists them, and what they do besides showing panes. */
  keys: readonly KeyWords[];
  press?: Keys["press"];
  /** Told of each click before what is clicked. */
  clicking?: ((event: MouseEvent) => void) | undefined;
  look?: string;
  style?: Record<string, string | number>;
  /** What may take the focus away when it changes. */
  signs?: readonly unknown[];
  children: ComponentChildren;
}

export function Frame(props: Props) {
  const { view, tabs, show, questions, beside, look = "", signs = [] } = props;
  const { root, room, width } = props.frame;
  const body = useRef<HTMLDivElement>(null);
  const panel = useId();
  const pane = view.pane.value;
  const [isHelp, setHelp] = useState(false);
  const theme = useTheme(root);
  useOwnLabel(root, props.label);
  useKeptFocus(root, [pane, ...signs]);
  useKeptScroll(view, body);
  const help = () => setHelp(true);
  const [tall, setTall] = useState(0);
  const stretch = () => setTall(tall ? 0 : roomAround(root.current!));
  useEffect(() => {
    if (tall) root.current?.scrollIntoView();
  }, [tall]);
  const pressed = (event: KeyboardEvent) => {
    if (event.key !== "h" || event.altKey) return props.press?.(event) ?? false;
    stretch();
    return true;
  };
  return (
    <div
      ref={root}
      class={["wb", look, room].filter(Boolean).join(" ")}
      data-theme={theme.theme.value}
      data-own={theme.isOwn.value || undefined}
      data-pane={pane}
      role="region"
      tabIndex={-1}
      style={{
        ...props.style,
        ...(beside && { "--insp": `${beside.width}px` }),
        ...(tall && { "--wb-height": `${tall}px` }),
      }}
      onKeyDown={(event) =>
        press(event, { ...(questions ?? { tabs, show }), help, press: pressed })
      }
      onClickCapture={props.clicking}
      onPointerUpCapture={props.clicking}
    >
      <div class="head">
        {props.head}
        <Menu>
          {props.menu}
          <MenuItem
            name="tall"
            label="Full height"
            keys="h"
            isPressed={tall > 0}
            look="tall"
            press={stretch}
          />
          <ThemeItem choice={theme.choice.value} next={theme.next} />
          <MenuItem name="help" label="Keyboard" keys="?" press={help} />
        </Menu>
      </div>
      {props.above}
      {questions?.strip(panel)}
      {(!questions || tabs.length > 1) && (
        <Tabs
          label={props.tabsLabel}
          tabs={tabs}
          pane={pane}
          show={show}
          panel={panel}
          width={width}
          isKeyed={!questions}
        />
      )}
      {props.lost ? <LostStrip why={props.lost} /> : props.job}
      <RoomContext.Provider value={room}>
        <div class={beside ? "body" : "body noinsp"}>
          <div
            ref={body}
            class="pane"
            id={panel}
            role="tabpanel"
            aria-labelledby={`${panel}-${questions?.named ?? pane}`}
            tabIndex={-1}
          >
            {props.children}
          </div>
          {beside && (
            <Border
              label="Width of the inspector"
              value={beside.width}
              least={LEAST}
              most={MOST}
              move={(by) => beside.setWidth(Math.min(MOST, Math.max(LEAST, beside.width - by)))}
            />
          )}
          {beside?.panel}
        </div>
      </RoomContext.Provider>
      {typeof props.status === "function" ? props.status(panel) : props.status}
      {props.dialogs}
      <Help keys={[...props.keys, FULL]} isOpen={isHelp} close={() => setHelp(false)} />
    </div>
  );
}
