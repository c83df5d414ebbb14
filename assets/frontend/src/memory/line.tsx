// A row of bytes with its line, its module or its kind.

import type { ComponentChildren } from "preact";
import { bytes as written } from "../format";
import type { Store } from "../store";
import { Bars } from "../table/columns";

interface Props {
  store: Store;
  line: string | null;
  name: string;
  bytes: number;
  /** Of the largest. */
  share: number;
  /** What else is said of it. */
  more?: string;
  /** What `children` say. */
  note?: string | undefined;
  children?: ComponentChildren;
  open?: { isOpen: boolean; turn(): void; inner: ComponentChildren };
  /** Whether the name is what is read, and not the line. */
  isText?: boolean;
}

/** It selects its line, or opens what is in it. */
export function LineRow(props: Props) {
  const { store, line, name, bytes, share, more, note, children, open, isText } = props;
  const known = line === null || isText ? null : store.line(line);
  const is =
    line === null
      ? ""
      : line === store.selected.value
        ? "sel"
        : store.related.value.has(line)
          ? "rel"
          : "";
  const tip = [known ? `${name}: ${known.text.trim()}` : name, note, more]
    .filter(Boolean)
    .join("; ");
  const words = (
    <>
      <span class="cut" data-tip={tip}>
        {known ? (
          <>
            <span class="mut">{known.number}</span> <span class="mono">{known.text.trim()}</span>
          </>
        ) : (
          name
        )}
        {children}
        {more && <span class="faint">{` ${more}`}</span>}
      </span>
      <span class="num">{written(bytes)}</span>
      <Bars parts={[{ share, look: "accent" }]} />
    </>
  );
  const act = open?.turn ?? (line === null ? null : () => store.select(line));
  return (
    <li class={isText ? `${is} long` : is}>
      {act ? (
        <button type="button" aria-expanded={open?.isOpen} onClick={act}>
          {words}
        </button>
      ) : (
        <span>{words}</span>
      )}
      {open?.isOpen && <ul>{open.inner}</ul>}
    </li>
  );
}
