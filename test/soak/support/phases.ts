/** The limits of a stream in a phase, in seconds. */
export interface StreamBound {
  /** The longest time without a frame at a destination. */
  readonly frame: number
  /** The longest time without audio. */
  readonly audio: number
  /** The total time of missing frames. */
  readonly lost: number
  /** The longest time without media of its encoder, which is not recorded. */
  readonly away: number
  /** The longest time that destinations get other media than the encoder's, when that differs from `away`. */
  readonly others?: number
  /** The most interruptions of its recording. */
  readonly cuts: number
}

export type StreamName = 'studio' | 'stage'
export type PhaseBound = Readonly<Record<StreamName, StreamBound>>

/** Nothing of the stream fails. The values are tolerance for a busy machine and the edges of the phase. */
const UNTOUCHED: StreamBound = { frame: 2, audio: 2, lost: 1, away: 0, cuts: 0 }

/**
 * The encoder is disconnected. The slate appears after 1.5 s without a frame, and the last frames may be in transit. An
 * encoder notices after 3 s, retries once a second, and is live a second later; one that hangs is noticed 5 s later.
 */
const SLATE: StreamBound = { frame: 3, audio: 3, lost: 3, away: 12, cuts: 1 }

/** Two encoders stop and start three times in total; each time takes as long as a slate takes to appear. */
const ENCODERS: StreamBound = { frame: 3, audio: 3, lost: 6, away: 9, cuts: 3 }

/** Encoders stop, a file starts, encoders return: each takes as long as a slate, and the file has its own frame rate. */
const INTERMISSION: StreamBound = { frame: 3, audio: 3, lost: 9, away: 9, others: Infinity, cuts: 3 }

/** The media process restarts (3 s on a busy machine), and an encoder that retries once a second returns (5 s by WHIP). */
const MEDIA_KILLED: StreamBound = { frame: 8, audio: 10, lost: 8, away: 8, cuts: 1 }

/** Before that it takes 5 s until the process counts as hanging. */
const MEDIA_HANGS: StreamBound = { frame: 15, audio: 17, lost: 15, away: 15, cuts: 1 }

/** Everything restarts, including the database. */
const NODE_KILLED: StreamBound = { frame: 30, audio: 32, lost: 30, away: 30, cuts: 1 }

export const BOUNDS = {
  steady: { studio: UNTOUCHED, stage: UNTOUCHED },
  'viewers leave': { studio: UNTOUCHED, stage: UNTOUCHED },
  'kill WHIP': { studio: SLATE, stage: UNTOUCHED },
  'stop WHIP': { studio: SLATE, stage: UNTOUCHED },
  // A new ffmpeg transcodes the audio; it takes a second to start on a busy machine.
  'kill ffmpeg': { studio: { ...UNTOUCHED, audio: 3 }, stage: UNTOUCHED },
  // Before that it takes 3 s until the process counts as hanging.
  'stop ffmpeg': { studio: { ...UNTOUCHED, audio: 5 }, stage: UNTOUCHED },
  encoders: { studio: UNTOUCHED, stage: ENCODERS },
  intermission: { studio: UNTOUCHED, stage: INTERMISSION },
  'kill media': { studio: MEDIA_KILLED, stage: MEDIA_KILLED },
  'stop media': { studio: MEDIA_HANGS, stage: MEDIA_HANGS },
  // The key is rejected for 15 s, and the relay retries after 10 s and another 20 s.
  'session kept': { studio: MEDIA_KILLED, stage: { ...MEDIA_KILLED, frame: 40, audio: 42, lost: 40 } },
  // The media process needs the main process only to admit publishers.
  'stop main': { studio: UNTOUCHED, stage: UNTOUCHED },
  'kill main': { studio: NODE_KILLED, stage: NODE_KILLED },
} as const satisfies Record<string, PhaseBound>

export type PhaseName = keyof typeof BOUNDS

/** The seconds that a recording can lack per interruption: half a fragment, and the frames before a keyframe. */
const CUT_SECONDS = 3

/** The least seconds that a stream must be live, and be recorded, in phases of `seconds` in total. */
export function leastLive(name: StreamName, phases: readonly PhaseName[], seconds: number): number {
  return seconds - phases.reduce((sum, phase) => sum + BOUNDS[phase][name].away, 0)
}

export function leastRecorded(name: StreamName, phases: readonly PhaseName[], liveSeconds: number): number {
  return liveSeconds - CUT_SECONDS * (1 + phases.reduce((sum, phase) => sum + BOUNDS[phase][name].cuts, 0))
}
