// A view in a notebook with its kernel: parts are asked for by message, one answer each.

import { type Host, hostSignals, PartCache, type Question } from "./host";
import type { Answer, Ask, Progress, Document as Report } from "./wire";

/** The part of anywidget's model that is used here. */
export interface Model {
  get(name: string): unknown;
  set(name: string, value: unknown): void;
  save_changes(): void;
  send(content: unknown): void;
  on(event: string, call: (...args: never[]) => void): void;
  off(event: string, call: (...args: never[]) => void): void;
}

interface Waiting {
  resolve(part: unknown): void;
  reject(error: Error): void;
}

/** Unpacks one gzip-compressed JSON buffer. */
export async function unpack(buffer: BufferSource): Promise<unknown> {
  const stream = new Blob([buffer]).stream().pipeThrough(new DecompressionStream("gzip"));
  return JSON.parse(await new Response(stream).text());
}

/** Requests to a kernel, each with one answer. */
export class Mail {
  private readonly waiting = new Map<number, Waiting>();
  // Several views share one model and hear each other's answers, so each counts from elsewhere.
  private last = Math.floor(Math.random() * 2 ** 40);

  constructor(private readonly model: Model) {}

  ask(name: string, question?: Question): Promise<unknown> {
    this.last += 1;
    const message: Ask = { id: this.last, ask: name };
    if (question) message.question = question;
    return new Promise((resolve, reject) => {
      this.waiting.set(message.id, { resolve, reject });
      this.model.send(message);
    });
  }

  async receive(answer: Answer, buffers: BufferSource[]): Promise<void> {
    const waiting = this.waiting.get(answer.id);
    if (!waiting) return; // an answer to another view of the same model
    this.waiting.delete(answer.id);
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
    for (const waiting of this.waiting.values()) waiting.reject(new Error("The view was closed."));
    this.waiting.clear();
  }
}

interface LiveHost extends Host {
  close(): void;
}

export function liveHost(model: Model): LiveHost {
  const signals = hostSignals();
  const mail = new Mail(model);
  const parts = new PartCache();

  async function askForDocument(): Promise<void> {
    parts.clear();
    try {
      signals.document.value = (await mail.ask("document")) as Report | null;
      signals.failure.value = null;
    } catch (error) {
      signals.failure.value = (error as Error).message;
    }
  }
  const receive = (answer: Answer, buffers: BufferSource[] = []) => {
    void mail.receive(answer, buffers);
  };
  const follow = () => (signals.progress.value = model.get("progress") as Progress);
  const refresh = () => void askForDocument();
  model.on("msg:custom", receive);
  model.on("change:progress", follow);
  model.on("change:revision", refresh);
  follow();
  refresh();
  return {
    kind: "live",
    ...signals,
    part<T>(name: string, question?: Question): Promise<T> {
      if (question) return mail.ask(name, question) as Promise<T>;
      return parts.get(name, () => mail.ask(name) as Promise<T>);
    },
    cancel() {
      mail.ask("cancel").catch((error: Error) => (signals.failure.value = error.message));
    },
    close() {
      model.off("msg:custom", receive);
      model.off("change:progress", follow);
      model.off("change:revision", refresh);
      mail.close();
    },
  };
}
