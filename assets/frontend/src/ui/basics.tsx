// Small things that every pane uses: marks of kernels, chips, tags, notes, copy buttons.

import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { kindOf } from "../ids";
import type { Store } from "../store";
import type { Note } from "../wire";
import { Icon, type IconName } from "./icons";
import { termOf } from "./terms";
import { iconOf, wordOf, type State } from "./words";

/** What knows the kernels of a view. */
export type Naming = Pick<Store, "kernel">;

interface ButtonProps {
  /** Words of the style sheet: `link`, `quiet`, `icon`. */
  look?: string;
  icon?: IconName;
  /** What it is called where it has no words of its own. */
  label?: string | undefined;
  tip?: string | undefined;
  isPressed?: boolean | undefined;
  /** Whether what it folds away is shown. */
  isOpen?: boolean | undefined;
  /** Whether pressing does nothing now; its tip says why. */
  isOff?: boolean | undefined;
  disabled?: boolean;
  press(event: MouseEvent): void;
  children?: ComponentChildren;
}

export function Button({
  look,
  icon,
  label,
  tip = label,
  isPressed,
  isOpen,
  isOff,
  ...more
}: ButtonProps) {
  return (
    <button
      type="button"
      class={look ? `btn ${look}` : "btn"}
      aria-label={label}
      aria-pressed={isPressed}
      aria-expanded={isOpen}
      aria-disabled={isOff}
      data-tip={tip}
      disabled={more.disabled}
      onClick={(event) => isOff || more.press(event)}
    >
      {icon && <Icon name={icon} />}
      {more.children}
    </button>
  );
}

interface SelectProps {
  /** What it is called, where no words stand beside it. */
  label?: string;
  tip?: string;
  look?: string;
  /** The value of each with its words; what cannot be chosen is off. */
  of: readonly (readonly [value: string, words: string, isOff?: boolean])[];
  value: string;
  set(value: string): void;
}

/** One of many, of which one is seen. */
export function Select({ label, tip, look, of, value, set }: SelectProps) {
  return (
    <select
      class={look ? `btn ${look}` : "btn"}
      aria-label={label}
      data-tip={tip}
      value={value}
      onChange={(event) => set(event.currentTarget.value)}
    >
      {of.map(([id, words, isOff]) => (
        <option key={id} value={id} disabled={isOff}>
          {words}
        </option>
      ))}
    </select>
  );
}

interface StepsProps {
  /** Of the way back and of the way on. */
  labels: readonly [string, string];
  off: readonly [boolean, boolean];
  go(by: 1 | -1): void;
}

/** The way to the one before, and to the next. */
export function Steps({ labels, off, go }: StepsProps) {
  return (
    <span class="seg">
      <Button look="icon" icon="left" label={labels[0]} disabled={off[0]} press={() => go(-1)} />
      <Button look="icon" icon="right" label={labels[1]} disabled={off[1]} press={() => go(1)} />
    </span>
  );
}

/** The coloured square and the id of a kernel. */
export function Mark({ store, kernel }: { store: Naming; kernel: string }) {
  const known = store.kernel(kernel);
  const mark = known?.mark ?? "ext";
  const look = mark === "ext" || mark === "fb" ? mark : "";
  return (
    <span
      class={`k ${look}`}
      style={look ? undefined : { "--c": `var(--${mark})` }}
      data-tip={known ? `${known.kind}: ${known.label}` : undefined}
    >
      <i />
      {kernel}
    </span>
  );
}

/** A thing that can be selected, in the pane where the reader is. */
export function Chip({ store, id }: { store: Store; id: string }) {
  const text = store.line(id)?.text.trim();
  return (
    <button
      type="button"
      class={store.pair.has(id) ? "chip pick" : "chip"}
      data-tip={text ?? id}
      onClick={() => store.select(id)}
    >
      {kindOf(id) === "kernel" ? <Mark store={store} kernel={id} /> : store.labelOf(id)}
    </button>
  );
}

const CHIPS = 24;

interface ChipsProps {
  store: Store;
  /** What they are, for a head that counts them. */
  title?: string;
  head?: string;
  ids: string[];
}

/** A titled list of chips; a long one opens on request. */
export function Chips({ store, title, ids, head = `${title} (${ids.length})` }: ChipsProps) {
  const [open, setOpen] = useState(false);
  if (!ids.length) return null;
  const shown = open ? ids : ids.slice(0, CHIPS);
  return (
    <section>
      <h3>{head}</h3>
      <div class="chips">
        {shown.map((id) => (
          <Chip key={id} store={store} id={id} />
        ))}
        {ids.length > shown.length && (
          <Button look="link" press={() => setOpen(true)}>
            {`${ids.length - shown.length} more`}
          </Button>
        )}
      </div>
    </section>
  );
}

export function Tag({ tone, icon, children }: TagProps) {
  const drawn = icon ?? (tone === "plain" ? null : iconOf(tone));
  return (
    <span class={`tag ${tone}`}>
      {drawn && <Icon name={drawn} />}
      {children}
    </span>
  );
}

interface TagProps {
  tone: State;
  icon?: IconName | null;
  children: ComponentChildren;
}

export function StateIcon({ state }: { state: State }) {
  if (state === "plain") return null;
  return (
    <span class={`st st-${state}`} data-tip={wordOf(state)}>
      <Icon name={iconOf(state)} />
      <span class="sr">{wordOf(state)}</span>
    </span>
  );
}

/** A text whose long names go on in the next line behind what joins their parts, if at all. */
export function Soft({ text }: { text: string }) {
  return <>{text.split(JOINTS).flatMap((part, i) => (i ? [<wbr />, part] : part))}</>;
}

const JOINTS = /(?<=\S{6}[._/])(?=[^\s._]\S{5})/;

/** Text with `code` between backquotes, the only markup that sentences have. */
export function Prose({ text }: { text: string }) {
  const parts = text.split(/`([^`\n]+)`/);
  return (
    <>
      {parts.map((part, i) =>
        i % 2 ? (
          <code key={i} class="mono">
            <Soft text={part} />
          </code>
        ) : (
          <Soft key={i} text={part} />
        ),
      )}
    </>
  );
}

/** A message above what is there. */
export function Message({ store, note, children }: MessageProps) {
  const target = note.select;
  return (
    <div class={`msg ${note.tone}`} role={note.tone === "break" ? "alert" : "note"}>
      <Icon name={note.tone === "plain" ? "info" : iconOf(note.tone)} />
      <div class="grow">
        <b>{note.title}</b> <Prose text={note.text} />{" "}
        {target && store && <Jump store={store} id={target} />}
      </div>
      {children}
    </div>
  );
}

/** A note in no colour. */
export function plain(title: string, text: string): Note {
  return { title, text, tone: "plain" };
}

/** Why something could not be done; nothing as long as it can. */
export function Problem({ title, text }: { title: string; text: string | null }) {
  return text ? <Message note={{ title, text, tone: "break" }} /> : null;
}

interface MessageProps {
  store?: Store;
  note: Note;
  children?: ComponentChildren;
}

/** A link to what a message is about. */
export function Jump({ store, id }: { store: Store; id: string }) {
  const cures = store.row("breaks", id)?.cures;
  const words = cures?.length ? "See the rewrite" : `Show ${store.labelOf(id)}`;
  const go = (event: Event) => {
    event.stopPropagation();
    store.select(id, { pane: store.paneOf(id) });
  };
  return (
    <Button look="link" press={go}>
      {words}
    </Button>
  );
}

/** A pane without data: what is missing, why, and what would change that. */
export function Empty({ store, note, children }: EmptyProps) {
  return (
    <div class="empty">
      <b>{note.title}</b>
      <Prose text={note.text} />
      {note.select && (
        <div>
          <Jump store={store} id={note.select} />
        </div>
      )}
      {children && <div>{children}</div>}
    </div>
  );
}

interface EmptyProps {
  store: Store;
  note: Note;
  children?: ComponentChildren;
}

export async function copyText(text: string): Promise<void> {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    // A page without leave to write the clipboard still has the old way.
    const field = document.createElement("textarea");
    field.value = text;
    field.style.cssText = "position:fixed;opacity:0";
    document.body.append(field);
    field.select();
    document.execCommand("copy");
    field.remove();
  }
}

interface CopyProps {
  text: string;
  label: string;
  title?: string;
  quiet?: boolean;
}

/** Copies a text and says for a moment that it did. */
export function Copy({ text, label, title, quiet }: CopyProps) {
  const [copied, setCopied] = useState(false);
  const copy = async (event: Event) => {
    event.stopPropagation();
    await copyText(text);
    setCopied(true);
    setTimeout(() => setCopied(false), 1500);
  };
  return (
    <Button
      look={quiet ? "quiet" : ""}
      icon={copied ? "captured" : "copy"}
      label={label ? undefined : title}
      tip={title ?? text}
      press={copy}
    >
      <span aria-live="polite">{copied ? "Copied" : label}</span>
    </Button>
  );
}

/** Copies the line of Python that gives the table as a DataFrame; `then` is what follows. */
export function Frame({ store, name, then }: { store: Store; name: string; then?: string }) {
  const code = `${store.doc.value?.variable ?? "report"}.frame("${name}")${then ?? ""}`;
  return <Copy quiet text={code} label="DataFrame" title={`Copy ${code}`} />;
}

interface SegmentsProps {
  label?: string;
  look?: string;
  /** The id of each with its words, and what more there is to say. */
  of: readonly (readonly [id: string, words: string, tip?: string])[];
  value: string;
  set(id: string): void;
}

/** One of a few, of which all are seen. */
export function Segments({ label, look = "small", of, value, set }: SegmentsProps) {
  return (
    <span class={`seg ${look}`} role={label ? "group" : undefined} aria-label={label}>
      {of.map(([id, words, tip]) => (
        <Button key={id} tip={tip} isPressed={id === value} press={() => set(id)}>
          {words}
        </Button>
      ))}
    </span>
  );
}

interface FactsProps {
  /** What they are facts of, as the glossary names the place. */
  of: string;
  rows: [string, string][];
}

export function Facts({ of, rows }: FactsProps) {
  return (
    <dl class="props">
      {rows.map(([name, value]) => (
        <>
          <dt data-tip={termOf(of, name)}>{name}</dt>
          <dd>
            <Soft text={value} />
          </dd>
        </>
      ))}
    </dl>
  );
}
