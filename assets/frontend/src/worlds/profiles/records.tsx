// The views of one profile and of two.

import { openRecords, type WorldRecords } from "../../opened/view";
import { ProfileDiffShell, ProfileDiffState } from "./difference";
import { ProfileShell } from "./shell";
import { ProfileState } from "./state";

export const records: WorldRecords = {
  profile: openRecords(ProfileState, ProfileShell),
  profile_diff: openRecords(ProfileDiffState, ProfileDiffShell),
};
