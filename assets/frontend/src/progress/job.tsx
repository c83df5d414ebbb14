// Work in the background as one strip: what, how far, how long, what it does now, what waits; panes
// stay usable.

import { plural, whole } from "../format";
import type { Asking } from "../host";
import { Unfolding } from "../ui/unfolding";
import type { Job, Progress } from "../wire";
import { Cancel } from "./cancel";
import { useSince } from "./progress";

interface StripProps {
  host: Asking;
  /** Which record is shown meanwhile. */
  shown: string;
}

export function JobStrip({ host, shown }: StripProps) {
  const progress = host.progress.value;
  const isRunning = progress.status === "running";
  const since = useSince(progress, isRunning);
  if (!isRunning) return null;
  const { done, now } = farOf(progress);
  return (
    <div class="job" role="group" aria-label="Work in the background">
      <span class="spin" aria-hidden="true" />
      <b class="cut" data-tip="">
        {progress.title || "Compiling"}
      </b>
      <span class="now cut" role="status" data-tip="">
        {now}
      </span>
      <span class="mut num">{whole(progress.elapsed_s + since)} s</span>
      <Others host={host} jobs={progress.jobs?.slice(1) ?? []} />
      <span class="mut cut grow" data-tip="">
        {`this view is ${shown} and stays usable`}
      </span>
      {progress.can_cancel ? (
        <Cancel host={host} look="link" />
      ) : (
        <span class="mut">Interrupt the kernel to stop</span>
      )}
      {done !== null && <i style={{ width: `${done * 100}%` }} />}
    </div>
  );
}

/** What else was asked for, each with its end. */
function Others({ host, jobs }: { host: Asking; jobs: readonly Job[] }) {
  if (!jobs.length) return null;
  return (
    <Unfolding class="others" words={`and ${jobs.length} more`}>
      {jobs.map((job) => (
        <div key={job.id} class="row">
          <span>{job.words}</span>
          {!job.is_made && <Cancel host={host} look="link" job={job} />}
        </div>
      ))}
    </Unfolding>
  );
}

const COUNTED = /(\d+) of (\d+)/;

/** Which part is done, where it is counted, and what it does now, in words. */
export function farOf({ words, kernels, steps }: Progress): { done: number | null; now: string } {
  const running = steps.findLast((step) => step.duration_s === null);
  const now = [
    words ?? running?.name ?? "",
    !words && kernels.length ? plural(kernels.length, "kernel") : "",
  ];
  const [, part, whole] = COUNTED.exec(words ?? kernels.at(-1) ?? "") ?? [];
  return {
    done: part && whole && Number(whole) ? Math.min(1, Number(part) / Number(whole)) : null,
    now: now.filter(Boolean).join(", "),
  };
}
