// The keys of a text that is only read: moves and selections, none that would change it.

import {
  cursorCharLeft,
  cursorCharRight,
  cursorDocEnd,
  cursorDocStart,
  cursorGroupLeft,
  cursorGroupRight,
  cursorLineBoundaryBackward,
  cursorLineBoundaryForward,
  cursorPageDown,
  cursorPageUp,
  selectAll,
  selectCharLeft,
  selectCharRight,
  selectDocEnd,
  selectDocStart,
  selectGroupLeft,
  selectGroupRight,
  selectLineBoundaryBackward,
  selectLineBoundaryForward,
  selectLineDown,
  selectLineUp,
  selectPageDown,
  selectPageUp,
} from "@codemirror/commands";
import type { KeyBinding } from "@codemirror/view";

const still = { preventDefault: true };

export const READING: readonly KeyBinding[] = [
  { key: "ArrowLeft", run: cursorCharLeft, shift: selectCharLeft, ...still },
  { key: "ArrowRight", run: cursorCharRight, shift: selectCharRight, ...still },
  { key: "Mod-ArrowLeft", mac: "Alt-ArrowLeft", run: cursorGroupLeft, shift: selectGroupLeft },
  { key: "Mod-ArrowRight", mac: "Alt-ArrowRight", run: cursorGroupRight, shift: selectGroupRight },
  { key: "Shift-ArrowUp", run: selectLineUp, ...still },
  { key: "Shift-ArrowDown", run: selectLineDown, ...still },
  { key: "PageUp", mac: "Ctrl-ArrowUp", run: cursorPageUp, shift: selectPageUp },
  { key: "PageDown", mac: "Ctrl-ArrowDown", run: cursorPageDown, shift: selectPageDown },
  { mac: "PageUp", run: cursorPageUp, shift: selectPageUp },
  { mac: "PageDown", run: cursorPageDown, shift: selectPageDown },
  { key: "Home", run: cursorLineBoundaryBackward, shift: selectLineBoundaryBackward, ...still },
  { key: "End", run: cursorLineBoundaryForward, shift: selectLineBoundaryForward, ...still },
  { mac: "Cmd-ArrowLeft", run: cursorLineBoundaryBackward, shift: selectLineBoundaryBackward },
  { mac: "Cmd-ArrowRight", run: cursorLineBoundaryForward, shift: selectLineBoundaryForward },
  { key: "Mod-Home", mac: "Cmd-ArrowUp", run: cursorDocStart, shift: selectDocStart },
  { key: "Mod-End", mac: "Cmd-ArrowDown", run: cursorDocEnd, shift: selectDocEnd },
  { key: "Mod-a", run: selectAll },
];
