// The icons, drawn in a square of 12; each has its meaning beside it in words.

const PATHS = {
  captured: "M2 6.5 5 9.5 10 3",
  break: "M7 1 3 6.5h6L5 11",
  failed: "M2.5 2.5l7 7M9.5 2.5l-7 7",
  faulty: "M7 1 3 6.5h6L5 11",
  fallback: "M2 10 10 2M5 2h5v5",
  folded: "M2 4.2h8M2 7.8h8",
  later: "M2 2.5 5.5 6 2 9.5M6 2.5 9.5 6 6 9.5",
  removed: "M3.5 3.5l5 5M8.5 3.5l-5 5",
  traced: "M3 6h6",
  unreached: "M6 3a3 3 0 1 0 0 6 3 3 0 0 0 0-6",
  search: "M5 1.5a3.5 3.5 0 1 0 0 7 3.5 3.5 0 0 0 0-7ZM8 8l3 3",
  left: "M8 2 4 6l4 4",
  right: "M4 2l4 4-4 4",
  down: "M2 4l4 4 4-4",
  moon: "M6 1a5 5 0 1 0 5 5 4 4 0 0 1-5-5Z",
  sun: "M6 3.5a2.5 2.5 0 1 0 0 5 2.5 2.5 0 0 0 0-5M6 .8v.7M6 10.5v.7M.8 6h.7M10.5 6h.7M2.3 2.3l.5.5M9.2 9.2l.5.5M2.3 9.7l.5-.5M9.2 2.8l.5-.5",
  contrast: "M6 1a5 5 0 1 0 0 10A5 5 0 0 0 6 1v10M7.5 2v8M9 3v6",
  copy: "M4 4h6v6H4zM2 8V2h6",
  info: "M6 5.5v3.2M6 3.2v.1M6 1a5 5 0 1 0 0 10A5 5 0 0 0 6 1",
  cross: "M2.5 2.5l7 7M9.5 2.5l-7 7",
  help: "M4.2 4.4a1.9 1.9 0 1 1 2.6 1.8c-.6.3-.8.6-.8 1.3M6 9.6v.1",
  panel: "M1 2h10v8H1zM7.5 2v8",
  save: "M6 1v6M3 4.5 6 7.5l3-3M1.5 10.5h9",
  tall: "M6 1v10M3.5 3.5 6 1l2.5 2.5M3.5 8.5 6 11l2.5-2.5",
  up: "M6 10V2M2.5 5.5 6 2l3.5 3.5",
  sink: "M6 2v8M2.5 6.5 6 10l3.5-3.5",
} as const;

export type IconName = keyof typeof PATHS;

export function Icon({ name }: { name: IconName }) {
  return (
    <svg class="ic" viewBox="0 0 12 12" aria-hidden="true">
      <path d={PATHS[name]} />
    </svg>
  );
}
