// A document of blocks, drawn: sentences, facts, tables, code, charts, what can be done.

import type { ComponentType } from "preact";
import { seconds } from "../format";
import { simple } from "../kernels/code/languages";
import type { Store } from "../store";
import type { Selecting } from "../table/table";
import { Copy, Facts, Frame, Message, plain, Prose } from "../ui/basics";
import { Coloured, coloured } from "../ui/highlight";
import type { Block, StepBar } from "../wire";
import { Action } from "./action";
import "./blocks.css";
import { Heat, OwnRows, RecordRows } from "./tables";

/** What draws blocks of a pane its own way, by their names. */
export type Owns = Readonly<Record<string, ComponentType<{ store: Store }>>>;

interface Place {
  view: Selecting;
  /** The view of the report, of which rows are shown and that does what is asked. */
  store?: Store;
  own?: Owns;
}

interface Props extends Place {
  blocks: readonly Block[];
  /** Whether the first sentence is what the pane says. */
  isPane?: boolean;
}

export function Blocks({ blocks, isPane = false, ...place }: Props) {
  return (
    <>
      {blocks.map((block, at) => (
        <Drawn key={at} block={block} isFirst={isPane && at === 0} {...place} />
      ))}
    </>
  );
}

type Kind<Name extends Block["kind"]> = Extract<Block, { kind: Name }>;

function Drawn({ block, isFirst, ...place }: Place & { block: Block; isFirst: boolean }) {
  const { view, store } = place;
  switch (block.kind) {
    case "sentence":
      return <Sentence block={block} isFirst={isFirst} />;
    case "heading":
      return <Heading block={block} store={store} />;
    case "items":
      return <Items block={block} />;
    case "facts":
      return (
        <section class="blk-sec">
          {block.title && <h2>{block.title}</h2>}
          <Facts of={block.of} rows={block.rows} />
        </section>
      );
    case "tree":
      return <Tree block={block} />;
    case "record":
      return store ? <RecordRows store={store} block={block} /> : null;
    case "table":
      return <OwnRows view={view} block={block} />;
    case "heat":
      return <Heat block={block} />;
    case "code":
      return <Code block={block} />;
    case "changes":
      return <Changes block={block} />;
    case "beside":
      return (
        <div class="blk-columns">
          {block.codes.map(([title, text]) => (
            <section key={title}>
              <h2 class="blk">{title}</h2>
              <Lines text={text} language="python" label={title} />
            </section>
          ))}
        </div>
      );
    case "chart":
      return <img class="blk-chart" alt={block.alt} src={block.address} />;
    case "waterfall":
      return <Waterfall block={block} />;
    case "timeline":
      return <Timeline block={block} />;
    case "section":
      return (
        <details class="blk-fold" open={block.is_open}>
          <summary>
            {block.title} <span class="mut">{block.count}</span>
          </summary>
          <Blocks blocks={block.blocks} {...place} />
        </details>
      );
    case "columns":
      return <Columns block={block} {...place} />;
    case "action":
      return <Action store={store} block={block} />;
    case "own": {
      const Own = place.own?.[block.name];
      return Own && store ? <Own store={store} /> : null;
    }
  }
}

function Sentence({ block, isFirst }: { block: Kind<"sentence">; isFirst: boolean }) {
  const { look, text } = block;
  if (look === "note" || look === "warning")
    return <Message note={{ ...plain("", text), tone: look === "note" ? "plain" : "break" }} />;
  const kind = { plain: isFirst ? "pane-says" : "", muted: "mut", strong: "strong", code: "mono" };
  return (
    <p class={isFirst && look === "plain" ? "pane-says" : `blk ${kind[look]}`}>
      {look === "code" ? text : <Prose text={text} />}
    </p>
  );
}

function Heading({ block, store }: { block: Kind<"heading">; store: Store | undefined }) {
  return (
    <div class="bar edge">
      <h2>{block.title}</h2>
      <span class="mut cut" data-tip="">
        {block.note}
      </span>
      <span class="grow" />
      {block.frame && store && <Frame store={store} name={block.frame} />}
    </div>
  );
}

function Items({ block: { title, texts, call } }: { block: Kind<"items"> }) {
  return (
    <section>
      {title && (
        <div class="bar">
          <h2>{title}</h2>
          <span class="grow" />
          {call && <Copy quiet text={call} label="DataFrame" title={`Copy ${call}`} />}
        </div>
      )}
      <ul class="blk-items">
        {texts.map((text) => (
          <li key={text}>
            <Prose text={text} />
          </li>
        ))}
      </ul>
    </section>
  );
}

function Tree({ block: { title, rows } }: { block: Kind<"tree"> }) {
  return (
    <section class="blk-sec">
      {title && <h2>{title}</h2>}
      <ul class="blk-tree" role="tree" aria-label={title}>
        {rows.map(([depth, text, note], at) => (
          <li key={at} role="treeitem" aria-level={depth + 1} style={{ "--depth": depth }}>
            <span class="mono cut" data-tip="">
              {text}
            </span>
            <span class="mut">{note}</span>
          </li>
        ))}
      </ul>
    </section>
  );
}

const LANGUAGES = new Set(["ptx", "amdgcn", "llvm", "mlir", "cpp"]);
const MOST = 5000; // lines that are coloured

function Lines({ text, language, label }: { text: string; language: string; label: string }) {
  const lines = text.split("\n");
  const isKnown = language === "python" || LANGUAGES.has(language);
  const parser = LANGUAGES.has(language) ? simple(language as "cpp").parser : undefined;
  return (
    <pre class="blk-code mono" tabIndex={0} role="group" aria-label={label || "Code"}>
      {isKnown && lines.length <= MOST
        ? coloured(lines, parser).map((pieces, at) => (
            <div key={at}>
              <Coloured pieces={pieces} />
            </div>
          ))
        : text}
    </pre>
  );
}

function Code({ block: { title, facts, text, language, call } }: { block: Kind<"code"> }) {
  const code =
    text === null ? (
      <p class="blk mut">
        Too long for here: <code class="mono">{call}</code>
      </p>
    ) : (
      <Lines text={text} language={language} label={title} />
    );
  if (!title) return code;
  return (
    <details class="blk-fold">
      <summary>
        <code class="mono">{title}</code> <span class="mut">{facts}</span>
      </summary>
      {text !== null && <Copy quiet text={text} label="Copy" title="Copy the code" />}
      {code}
    </details>
  );
}

const SIDES: Readonly<Record<string, string>> = { "-": "a", "+": "b" };

function Changes({ block: { title, facts, lines } }: { block: Kind<"changes"> }) {
  return (
    <details class="blk-fold">
      <summary>
        {title} <span class="mut">{facts}</span>
      </summary>
      <pre class="blk-code mono diff" tabIndex={0} role="group" aria-label={title}>
        {lines.map((line, at) => (
          <div key={at} class={SIDES[line[0] ?? ""] ?? ""}>
            {line}
          </div>
        ))}
      </pre>
    </details>
  );
}

function Waterfall({ block: { title, steps, total_s, is_open } }: { block: Kind<"waterfall"> }) {
  const part = (time: number) => `${total_s > 0 ? (100 * time) / total_s : 0}%`;
  return (
    <details class="blk-fold" open={is_open}>
      <summary>{title}</summary>
      <div class="fall">
        {steps.map(([name, start, took]) => (
          <div key={name} class="fall-row">
            <span class="cut">{name}</span>
            <span class="num">{seconds(took)}</span>
            <span class="fall-track">
              <i style={{ left: part(start), width: `max(2px, ${part(took)})` }} />
            </span>
          </div>
        ))}
      </div>
    </details>
  );
}

function Timeline({ block: { title, first, last, scale, bars } }: { block: Kind<"timeline"> }) {
  return (
    <section>
      <div class="bar">
        <h2>{title}</h2>
        <span class="mut">{first === last ? `step ${first}` : `step ${first} to ${last}`}</span>
      </div>
      <div
        class="steps-chart"
        role="img"
        aria-label={`${title}; the table of steps has the numbers`}
      >
        {scale.map(([height, words]) => (
          <span key={words} aria-hidden="true" style={{ bottom: `${height * 100}%` }}>
            {words}
          </span>
        ))}
        {bars.map((bar, at) => (
          <TimelineBar key={at} bar={bar} />
        ))}
      </div>
    </section>
  );
}

function TimelineBar({ bar: { words, marks, heights } }: { bar: StepBar }) {
  return (
    <div class="steps-bar" data-tip={words}>
      {heights.map((height, at) => (
        <i key={at} class={`steps-${at}`} style={{ height: `${height * 100}%` }} />
      ))}
      {marks && <b aria-hidden="true">{marks}</b>}
    </div>
  );
}

/** Facts in columns of a page; other blocks beside one another where there is room. */
function Columns({ block: { blocks }, ...place }: Place & { block: Kind<"columns"> }) {
  if (blocks.every(({ kind }) => kind === "facts"))
    return (
      <div class="facts-columns">
        <Blocks blocks={blocks} {...place} />
      </div>
    );
  return (
    <div class="blk-columns">
      {blocks.map((block, at) => (
        <section key={at}>
          <Blocks blocks={[block]} {...place} />
        </section>
      ))}
    </div>
  );
}
