// The top of the view of a report: what was compiled, the verdict, history, search.

import type { RefObject } from "preact";
import { ProfileButton } from "../cost/profile";
import { CostSwitch } from "../cost/switch";
import type { Store } from "../store";
import { Tag } from "../ui/basics";
import { TargetButton } from "../targets/dialog";
import { IconButton } from "./buttons";
import { SearchBox } from "./searchbox";
import { ShareButton } from "./share";

interface Props {
  store: Store;
  search: RefObject<HTMLInputElement | null>;
  inspector: { isOpen: boolean; toggle(): void };
}

export function Header({ store, search, inspector }: Props) {
  const report = store.doc.value;
  const inputs = report?.inputs.join(", ") ?? "";
  return (
    <>
      <h1 data-tip="">{report?.name ?? "Compilation"}</h1>
      <Verdict store={store} />
      {report && <TargetButton store={store} />}
      <CostSwitch store={store} />
      <ProfileButton store={store} />
      <span class="facts mut grow" data-tip="">
        {inputs}
      </span>
      <span class="row tight">
        <IconButton
          name="left"
          label="Previous selection"
          keys="Alt+Left"
          disabled={!store.canGoBack.value}
          press={() => store.back()}
        />
        <IconButton
          name="right"
          label="Next selection"
          keys="Alt+Right"
          disabled={!store.canGoForward.value}
          press={() => store.forward()}
        />
      </span>
      <SearchBox store={store} field={search} />
      <IconButton
        name="panel"
        label={inspector.isOpen ? "Hide the inspector" : "Show the inspector"}
        keys="I"
        isPressed={inspector.isOpen}
        press={inspector.toggle}
      />
      <ShareButton host={store.host} />
    </>
  );
}

function Verdict({ store }: { store: Store }) {
  const { status, task } = store.host.progress.value;
  const report = store.doc.value;
  if (status === "running")
    return (
      <span class="tag plain">
        <span class="spin" aria-hidden="true" />
        {task ? "measuring" : "compiling"}
      </span>
    );
  if (report) return <Tag tone={report.tone}>{report.verdict}</Tag>;
  if (status === "failed")
    return (
      <Tag tone="break" icon="cross">
        failed
      </Tag>
    );
  return status === "cancelled" ? <Tag tone="plain">cancelled</Tag> : null;
}
