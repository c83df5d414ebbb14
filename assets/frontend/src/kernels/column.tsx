// A column: its head with name, size, search and copy, and the editor below.

import type { ComponentChildren } from "preact";
import { useRef } from "preact/hooks";
import { Copy } from "../ui/basics";
import { Icon } from "../ui/icons";
import { useColumnEditor, type EditorProps } from "./columneditor";

interface Props extends EditorProps {
  note: string;
  /** Why there is nothing to show. */
  missing: string | null;
  share: number;
  /** What chooses the lines in sight. */
  filters?: ComponentChildren;
}

export function CodeColumn(props: Props) {
  const { title, note, rows, missing, share, filters } = props;
  const holder = useRef<HTMLDivElement>(null);
  const editor = useColumnEditor(props, holder);
  return (
    <section class="code-column" role="group" style={{ flexGrow: share }} aria-label={title}>
      <header class="code-head">
        <b>{title}</b>
        <span class="cut mut" data-tip="">
          {note}
        </span>
        <span class="grow" />
        {rows && filters}
        <button
          type="button"
          class="btn icon quiet"
          data-tip={`Search in ${title} (Ctrl F)`}
          aria-label={`Search in ${title}`}
          disabled={!rows}
          onClick={() => editor.current?.find()}
        >
          <Icon name="search" />
        </button>
        {rows && <Copy quiet text={rows.raw} label="" title={`Copy ${title}`} />}
      </header>
      {missing && !rows && <p class="code-missing">{missing}</p>}
      <div ref={holder} class="code-editor" hidden={!rows} />
    </section>
  );
}
