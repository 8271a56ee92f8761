/** What other domains and the composition use of streams. */

export type { DesiredState } from './desired-state.ts'
export { Stream, StreamSession } from './tables.ts'
export { streamWarning } from './events.ts'
export { PublisherSource } from './inputs.ts'
export { backupPath, primaryPath } from './keys.ts'
export type { StreamLifecycle } from './lifecycle.ts'
export { expiredStreams, lostStreams, type OverdueStream } from './overdue.ts'
export { findTarget, streamsIn, type NamedStream, type StreamTarget } from './targets.ts'
export { streamsWithLiveKeys } from './live-keys.ts'
export { setScheduledTime, streamPlaces, type StreamPlace, streamTitles } from './lookups.ts'
export { RecordingStatus } from './recording-status.ts'
export { renderingOf, RenderingStatusView } from './rendering.ts'
export {
  DestinationStatus,
  FaultView,
  type ShownDestinationState,
  StreamPath,
  type StreamPlatformData,
} from './schemas.ts'
export { findSession, knownSessions, recordPeaks, type SessionInSpan, sessionsBetween } from './sessions.ts'
export { SlateStatusView } from './slate.ts'
export { isActive, StreamStatus } from './state.ts'
export { findStream, type StreamRow } from './store.ts'
export {
  announceInput,
  announceSlate,
  announceWebrtcLost,
  canBeUnknown,
  type DestinationReport,
  exhaustMinutes,
  expireStream,
  loseIngest,
  type MinutesWarning,
  type Observation,
  observeStream,
  reportDiagnosis,
  warnOfMinutes,
} from './turns.ts'
export { checkpoint, monthOf, type UsageRow, type WorkspacesOf, usedByOwners, usedMs } from './usage.ts'
export { WarningCode } from './warning-code.ts'
