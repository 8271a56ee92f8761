import { States, type Static } from '../../../core/schema.ts'

/**
 * The states of a stream. Only in `ended` is the ingest key invalid. `arm` creates a new key.
 *
 * | state         | means                                                                    | media relayed |
 * |---------------|--------------------------------------------------------------------------|---------------|
 * | `idle`        | the key is valid, no publisher sends                                     | no            |
 * | `receiving`   | a publisher sends, nothing is relayed                                    | no            |
 * | `starting`    | going live, waits for the publisher                                      | on arrival    |
 * | `live`        | a publisher sends, media is relayed                                      | yes           |
 * | `interrupted` | was live, waits for the publisher to return                              | on arrival    |
 * | `ended`       | stopped, out of minutes, or the publisher did not return                 | no            |
 *
 * | transition       | idle      | receiving | starting | live        | interrupted | ended |
 * |------------------|-----------|-----------|----------|-------------|-------------|-------|
 * | ingest_started   | receiving | receiving | live     | live        | live        | –     |
 * | ingest_ended     | idle      | idle      | starting | interrupted | interrupted | ended |
 * | go_live          | 409       | live      | starting | live        | interrupted | 409   |
 * | go_live_and_wait | starting  | live      | starting | live        | interrupted | 409   |
 * | arm              | idle      | idle      | starting | interrupted | interrupted | idle  |
 * | stop             | 409       | ended     | ended    | ended       | ended       | ended |
 * | source_lost      | –         | –         | –        | –           | ended       | –     |
 * | minutes_used_up  | –         | –         | ended    | ended       | ended       | –     |
 *
 * An action that keeps the state succeeds, so a repeated request has no effect.
 */
export const StreamStatus = States('StreamStatus', 'Status of a stream', {
  idle: 'The stream key is valid. No encoder sends',
  receiving: 'An encoder sends. Nothing is relayed yet',
  starting: 'Going live. Relaying starts with the first frame of the encoder',
  live: 'An encoder sends, and media is relayed',
  interrupted: 'Was live, and the encoder has disconnected. Destinations stay connected for `holdSeconds`',
  ended: 'Ended for the reason in `endReason`. Arm the stream to get a new key',
})
export type StreamStatus = Static<typeof StreamStatus>

/** What changes the state of a stream: an action of a member or a report of a media node. */
export type StreamTransition =
  | 'ingest_started'
  | 'ingest_ended'
  | 'go_live'
  | 'go_live_and_wait'
  | 'arm'
  | 'stop'
  | 'source_lost'
  | 'minutes_used_up'

const GO_LIVE = { receiving: 'live', starting: 'starting', live: 'live', interrupted: 'interrupted' } as const

const TRANSITIONS: Readonly<Record<StreamTransition, Partial<Readonly<Record<StreamStatus, StreamStatus>>>>> = {
  ingest_started: {
    idle: 'receiving',
    receiving: 'receiving',
    starting: 'live',
    live: 'live',
    interrupted: 'live',
  },
  ingest_ended: {
    idle: 'idle',
    receiving: 'idle',
    starting: 'starting',
    live: 'interrupted',
    interrupted: 'interrupted',
    ended: 'ended',
  },
  go_live: GO_LIVE,
  go_live_and_wait: { ...GO_LIVE, idle: 'starting' },
  arm: {
    idle: 'idle',
    receiving: 'idle',
    starting: 'starting',
    live: 'interrupted',
    interrupted: 'interrupted',
    ended: 'idle',
  },
  stop: { receiving: 'ended', starting: 'ended', live: 'ended', interrupted: 'ended', ended: 'ended' },
  source_lost: { interrupted: 'ended' },
  minutes_used_up: { starting: 'ended', live: 'ended', interrupted: 'ended' },
}

/** The state after a transition. Undefined where the transition is not possible. */
export function next(status: StreamStatus, transition: StreamTransition): StreamStatus | undefined {
  return TRANSITIONS[transition][status]
}

/** Whether media is relayed when a publisher sends. Such a stream counts against the concurrent streams of the plan. */
export function isActive(status: StreamStatus): boolean {
  return status === 'starting' || status === 'live' || status === 'interrupted'
}
