// Other targets for the same call: one takes the place of what is shown, several are compared.

import { effect, type Signal } from "@preact/signals";
import { useEffect, useRef, useState } from "preact/hooks";
import { whyNot } from "../host";
import type { Store } from "../store";
import { useAttempt } from "../ui/asked";
import { Button, Problem, Prose } from "../ui/basics";
import { Icon } from "../ui/icons";
import { Offer } from "../ui/offer";
import type { TargetChoice, Targets } from "../wire";
import "./targets.css";

/** Whether the dialog of a view is open. */
function targetsOpen({ paneStates }: Store): Signal<boolean> {
  return paneStates.signal("targets", "open", () => false);
}

/** The target in the header: it leads to the other ones. */
export function TargetButton({ store }: { store: Store }) {
  const targets = store.doc.value?.targets;
  if (!targets) return null;
  const why = whyNot(store.host, targets.why_not);
  const words = why ?? "Compile for another target";
  return (
    <button
      type="button"
      class="tag plain target"
      data-tip={words}
      aria-label={`Target ${targets.present}: ${words}`}
      aria-haspopup="dialog"
      aria-disabled={why !== null}
      onClick={() => why === null && (targetsOpen(store).value = true)}
    >
      {targets.present}
      {why === null && <Icon name="down" />}
    </button>
  );
}

/** From a comparison: with other GPUs; off, with the reason as its tip, where nothing is alive. */
export function CompareAgain({ store }: { store: Store }) {
  const why = whyNot(store.host, store.doc.value?.targets.why_not ?? null);
  const tip = why ?? "Compile every kernel for several GPUs";
  return (
    <Button tip={tip} isOff={why !== null} press={() => (targetsOpen(store).value = true)}>
      Compare on GPUs…
    </Button>
  );
}

/** From an empty comparison: every kernel on several GPUs. */
export function CompareButton({ store }: { store: Store }) {
  const report = store.doc.value;
  const isOfGpu = report?.kernels.some((kernel) => kernel.language === "triton");
  const subject = isOfGpu ? (report?.variable ?? "report") : "fn, args";
  return (
    <Offer
      store={store}
      ask="compare-targets"
      words="Compare on GPUs…"
      line={`wb.matrix(${subject}, targets=["a100", "h100"])`}
      press={() => (targetsOpen(store).value = true)}
    />
  );
}

/** From an empty roofline: the same call on a GPU. */
export function CompileButton({ store }: { store: Store }) {
  return (
    <Offer
      store={store}
      ask="retarget"
      words="Compile for…"
      line='wb.aot_compile(fn, args, target="h100")'
      press={() => (targetsOpen(store).value = true)}
    />
  );
}

export function TargetDialog({ store }: { store: Store }) {
  const dialog = useRef<HTMLDialogElement>(null);
  const state = targetsOpen(store);
  const targets = store.doc.value?.targets;
  const isOpen = state.value && targets !== undefined;
  useEffect(() => {
    if (isOpen && !dialog.current?.open) dialog.current?.showModal();
    if (!isOpen) dialog.current?.close();
  }, [isOpen]);
  const close = () => (state.value = false);
  return (
    <dialog ref={dialog} class="targets" aria-label="Compile for another target" onClose={close}>
      {isOpen && <Form store={store} targets={targets} close={close} />}
    </dialog>
  );
}

interface FormProps {
  store: Store;
  targets: Targets;
  close(): void;
}

function Form({ store, targets, close }: FormProps) {
  const [chosen, choose] = useState<readonly string[]>([]);
  const [error, attempt] = useAttempt();
  const off = whyNot(store.host, targets.why_not);
  const { place, compare } = offers(targets, chosen, off);
  const ask = async (name: "retarget" | "compare-targets") => {
    if (!(await attempt(store.host.part(name, { targets: [...chosen] })))) return;
    close();
    if (name === "compare-targets") showMatrixAtEnd(store);
  };
  const turn = (name: string) =>
    choose(chosen.includes(name) ? chosen.filter((each) => each !== name) : [...chosen, name]);
  return (
    <form method="dialog" onSubmit={(event) => event.preventDefault()}>
      <h2>Compile for another target</h2>
      <p>
        One target replaces this view. For several GPUs, every kernel is compiled and compared. None
        of them is needed in this machine.
      </p>
      <div class="target-list" role="group" aria-label="Targets">
        {targets.choices.map((choice) => (
          <Choice
            key={choice.name}
            choice={choice}
            isShown={choice.name === targets.present}
            isChosen={chosen.includes(choice.name)}
            turn={() => turn(choice.name)}
          />
        ))}
      </div>
      <Problem title="The request failed." text={error} />
      <p class="mut" role="status">
        <Prose text={(compare.why && place.why) ?? " "} />
      </p>
      <div class="row">
        <Button tip={place.why ?? ""} isOff={place.why !== null} press={() => void ask("retarget")}>
          {place.words}
        </Button>
        <Button
          tip={compare.why ?? ""}
          isOff={compare.why !== null}
          press={() => void ask("compare-targets")}
        >
          {compare.words}
        </Button>
        <span class="grow" />
        <Button press={close}>Close</Button>
      </div>
    </form>
  );
}

/** Leads to the comparison once it is there, if the reader is still where it was asked for. */
function showMatrixAtEnd(store: Store): void {
  const pane = store.pane.peek();
  const stop = effect(() => {
    const { status } = store.host.progress.value;
    if (status === "running") return;
    queueMicrotask(() => stop());
    if (status === "done" && store.pane.peek() === pane) store.show("matrix");
  });
}

interface ChoiceProps {
  choice: TargetChoice;
  isShown: boolean;
  isChosen: boolean;
  turn(): void;
}

function Choice({ choice, isShown, isChosen, turn }: ChoiceProps) {
  return (
    <label data-tip={choice.words}>
      <input type="checkbox" checked={isChosen} onChange={turn} />
      <b class="mono">{choice.name}</b>{" "}
      <span class="mut cut">{isShown ? `${choice.words} (shown)` : choice.words}</span>
    </label>
  );
}

interface Offer {
  /** What the button says. */
  words: string;
  /** Why it cannot be pressed, or null. */
  why: string | null;
}

const HERE = new Set(["host", "cpu", "cuda"]);

export function offers(
  targets: Targets,
  chosen: readonly string[],
  off: string | null = null,
): { place: Offer; compare: Offer } {
  const own = chosen.find((name) => HERE.has(name));
  const count = chosen.length;
  const one = count === 1 ? chosen[0] : undefined;
  return {
    place: {
      words: one ? `Compile for ${one}` : "Compile for one",
      why: off ?? placeWhy(targets, one, count),
    },
    compare: {
      words: count > 1 ? `Compare kernels on ${count} GPUs` : "Compare kernels on GPUs",
      why: off ?? compareWhy(own, count),
    },
  };
}

function placeWhy(targets: Targets, one: string | undefined, count: number): string | null {
  if (one === undefined)
    return count ? "Choose only one target to replace this view." : "Choose a target.";
  return one === targets.present ? `This view is already for ${one}.` : null;
}

function compareWhy(own: string | undefined, count: number): string | null {
  if (count < 2) return "Choose two GPUs or more to compare them.";
  return own === undefined ? null : `Kernels are compared on GPUs; ${own} is not a GPU.`;
}
