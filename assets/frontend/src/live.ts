// A view in a notebook with its kernel: parts are asked for by message, one answer each.

import { effect, type Signal } from "@preact/signals";
import { type Host, hostSignals, PartCache, type Question } from "./host";
import { isToldOfEnds, SILENT, SILENT_MS, STOPPED, UNSEEN, watchKernel } from "./kernel";
import type { Model } from "./model";
import type { Answer, Ask, Progress, Document as Report } from "./wire";

interface Waiting {
  resolve(part: unknown): void;
  reject(error: Error): void;
}

/** Unpacks one gzip-compressed JSON buffer. */
export async function unpack(buffer: BufferSource): Promise<unknown> {
  const stream = new Blob([buffer]).stream().pipeThrough(new DecompressionStream("gzip"));
  return JSON.parse(await new Response(stream).text());
}

/** Requests to a kernel, each with one answer; none is sent while it is `lost`. */
export class Mail {
  private readonly waiting = new Map<number, Waiting>();
  // Several views share one model and hear each other's answers, so each counts from elsewhere.
  private last = Math.floor(Math.random() * 2 ** 40);

  private readonly forget: (() => void)[];
  private patience: ReturnType<typeof setTimeout> | undefined;

  constructor(
    private readonly model: Model,
    private readonly lost: Signal<string | null>,
  ) {
    const hear = () => lost.value === STOPPED && this.refuse(STOPPED);
    this.forget = [watchKernel(model, lost), effect(() => void hear())];
  }

  ask(name: string, question?: Question): Promise<unknown> {
    const why = this.lost.peek();
    if (why !== null) return Promise.reject(new Error(question ? why : absent(why)));
    this.last += 1;
    const message: Ask = { id: this.last, ask: name };
    if (question) message.question = question;
    return new Promise((resolve, reject) => {
      this.waiting.set(message.id, { resolve, reject });
      this.model.send(message);
      this.wait();
    });
  }

  /** The kernel is there: it said something. */
  hear(): void {
    clearTimeout(this.patience);
    this.patience = undefined;
    if (this.lost.peek() === SILENT) this.lost.value = null;
    if (this.waiting.size) this.wait();
  }

  /** Says so when nothing comes, where nobody else would. */
  private wait(): void {
    if (isToldOfEnds(this.model)) return;
    this.patience ??= setTimeout(() => (this.lost.value ??= SILENT), SILENT_MS);
  }

  async receive(answer: Answer, buffers: BufferSource[]): Promise<void> {
    const waiting = this.waiting.get(answer.id);
    if (!waiting) return; // an answer to another view of the same model
    this.waiting.delete(answer.id);
    this.hear();
    const first = buffers[0];
    if (answer.error !== null) return waiting.reject(new Error(answer.error));
    if (!first) return waiting.resolve(null);
    try {
      waiting.resolve(await unpack(first));
    } catch (error) {
      waiting.reject(new Error(`The answer to ${answer.ask} could not be read: ${error}`));
    }
  }

  close(): void {
    clearTimeout(this.patience);
    for (const forget of this.forget) forget();
    this.refuse("The view was closed.");
  }

  private refuse(why: string): void {
    for (const waiting of this.waiting.values()) waiting.reject(new Error(why));
    this.waiting.clear();
  }
}

/** Why a part is not there: the view says once that the kernel has stopped, the pane what that means. */
function absent(why: string): string {
  return why === STOPPED ? UNSEEN : why;
}

interface LiveHost extends Host {
  close(): void;
}

export function liveHost(model: Model): LiveHost {
  const signals = hostSignals();
  const mail = new Mail(model, signals.lost);
  const parts = new PartCache();

  async function askForDocument(): Promise<void> {
    parts.clear();
    try {
      signals.document.value = (await mail.ask("document")) as Report | null;
      signals.failure.value = null;
    } catch (error) {
      if (signals.lost.peek() === null) signals.failure.value = (error as Error).message;
    }
  }
  const receive = (answer: Answer, buffers: BufferSource[] = []) => {
    void mail.receive(answer, buffers);
  };
  const follow = () => {
    mail.hear();
    signals.progress.value = model.get("progress") as Progress;
  };
  const refresh = () => void askForDocument();
  model.on("msg:custom", receive);
  model.on("change:progress", follow);
  model.on("change:revision", refresh);
  follow();
  refresh();
  const end = effect(() => {
    const now = signals.progress.peek();
    if (signals.lost.value === STOPPED && now.status === "running")
      signals.progress.value = { ...now, status: "failed", error: STOPPED };
  });
  return {
    kind: "live",
    ...signals,
    part<T>(name: string, question?: Question): Promise<T> {
      if (question) return mail.ask(name, question) as Promise<T>;
      return parts.get(name, () => mail.ask(name) as Promise<T>);
    },
    cancel(job) {
      mail
        .ask("cancel", job === undefined ? undefined : { job })
        .catch((error: Error) => (signals.failure.value = error.message));
    },
    close() {
      end();
      model.off("msg:custom", receive);
      model.off("change:progress", follow);
      model.off("change:revision", refresh);
      mail.close();
    },
  };
}
