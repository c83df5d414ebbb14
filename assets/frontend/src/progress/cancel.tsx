// Ends what runs in the kernel, or waits there.

import type { Asking } from "../host";
import { Button } from "../ui/basics";
import type { Job } from "../wire";

interface CancelProps {
  host: Asking;
  look?: string;
  /** Which of several jobs; what runs without it. */
  job?: Job;
}

export function Cancel({ host, look = "", job }: CancelProps) {
  const lost = host.lost.value;
  return (
    <Button
      look={look}
      label={job && `Cancel: ${job.words}`}
      tip={lost ?? undefined}
      isOff={lost !== null}
      press={() => host.cancel(job?.id)}
    >
      Cancel
    </Button>
  );
}
