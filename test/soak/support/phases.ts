/** What may happen to a stream in a phase. Seconds. */
export interface StreamBound {
  /** Longest time without a picture at a destination. */
  readonly picture: number
  /** Longest time without sound. */
  readonly sound: number
  /** Pictures that are missing in all, as the time that they would have been shown. */
  readonly lost: number
  /** How long media of its encoder may be away: that is not recorded. */
  readonly away: number
  /** How long destinations may be shown something else than what the encoder sends, where that is not `away`. */
  readonly others?: number
  /** How often its recording may be interrupted. */
  readonly cuts: number
}

export type StreamName = 'studio' | 'stage'
export type PhaseBound = Readonly<Record<StreamName, StreamBound>>

/** Nothing of the stream fails. The rest is for a machine that is busy, and for the edges of the phase. */
const UNTOUCHED: StreamBound = { picture: 2, sound: 2, lost: 1, away: 0, cuts: 0 }

/**
 * The encoder is cut off. The slate is shown after 1.5 s without a frame, and its last pictures may be on the way. An
 * encoder notices after 3 s, tries once a second, and is there a second later; one that hangs is noticed after 5 s more.
 */
const SLATE: StreamBound = { picture: 3, sound: 3, lost: 3, away: 12, cuts: 1 }

/** Two encoders stop and start three times in all; each time is as long as a slate takes to stand in. */
const ENCODERS: StreamBound = { picture: 3, sound: 3, lost: 6, away: 9, cuts: 3 }

/** Encoders leave, a file begins, encoders come back: each time as long as a slate takes, and the file has its own rate. */
const INTERMISSION: StreamBound = { picture: 3, sound: 3, lost: 9, away: 9, others: Infinity, cuts: 3 }

/** The media process starts again (3 s on a busy machine), and an encoder that tries once a second comes back (5 s by WHIP). */
const MEDIA_KILLED: StreamBound = { picture: 8, sound: 10, lost: 8, away: 8, cuts: 1 }

/** It is taken to hang after 5 s before that. */
const MEDIA_HANGS: StreamBound = { picture: 15, sound: 17, lost: 15, away: 15, cuts: 1 }

/** Everything starts again, the database included. */
const NODE_KILLED: StreamBound = { picture: 30, sound: 32, lost: 30, away: 30, cuts: 1 }

export const BOUNDS = {
  steady: { studio: UNTOUCHED, stage: UNTOUCHED },
  'viewers leave': { studio: UNTOUCHED, stage: UNTOUCHED },
  'kill WHIP': { studio: SLATE, stage: UNTOUCHED },
  'stop WHIP': { studio: SLATE, stage: UNTOUCHED },
  // Another ffmpeg codes the sound: it needs a second on a busy machine.
  'kill ffmpeg': { studio: { ...UNTOUCHED, sound: 3 }, stage: UNTOUCHED },
  // It is taken to hang after 3 s before that.
  'stop ffmpeg': { studio: { ...UNTOUCHED, sound: 5 }, stage: UNTOUCHED },
  encoders: { studio: UNTOUCHED, stage: ENCODERS },
  intermission: { studio: UNTOUCHED, stage: INTERMISSION },
  'kill media': { studio: MEDIA_KILLED, stage: MEDIA_KILLED },
  'stop media': { studio: MEDIA_HANGS, stage: MEDIA_HANGS },
  // The key is refused for 15 s, and the refusals are repeated after 10 s and 20 s more.
  'session kept': { studio: MEDIA_KILLED, stage: { ...MEDIA_KILLED, picture: 40, sound: 42, lost: 40 } },
  // The media process needs the main process only to admit publishers.
  'stop main': { studio: UNTOUCHED, stage: UNTOUCHED },
  'kill main': { studio: NODE_KILLED, stage: NODE_KILLED },
} as const satisfies Record<string, PhaseBound>

export type PhaseName = keyof typeof BOUNDS

/** What a recording may lack where it is interrupted, seconds: half a fragment, and what comes before a keyframe. */
const CUT_SECONDS = 3

/** Seconds that a stream must have been live, and of that what must be recorded, for phases of so many seconds in all. */
export function leastLive(name: StreamName, phases: readonly PhaseName[], seconds: number): number {
  return seconds - phases.reduce((sum, phase) => sum + BOUNDS[phase][name].away, 0)
}

export function leastRecorded(name: StreamName, phases: readonly PhaseName[], liveSeconds: number): number {
  return liveSeconds - CUT_SECONDS * (1 + phases.reduce((sum, phase) => sum + BOUNDS[phase][name].cuts, 0))
}
