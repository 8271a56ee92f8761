import { States, type Static } from '../../../core/schema.ts'

/**
 * The states of a stream. `ended` is the only one in which its ingest key is dead; `arm` makes a new key.
 *
 * | state         | means                                                                    | media relayed |
 * |---------------|--------------------------------------------------------------------------|---------------|
 * | `idle`        | the key works, nothing comes in                                          | no            |
 * | `receiving`   | a publisher sends, nothing goes out                                      | no            |
 * | `starting`    | told to go live, waits for the publisher                                 | as it comes   |
 * | `live`        | comes in and goes out                                                    | yes           |
 * | `interrupted` | was live; the publisher has gone, and may come back for a time           | as it comes   |
 * | `ended`       | over: stopped, out of minutes, or the publisher did not come back        | no            |
 *
 * | happening        | idle      | receiving | starting | live        | interrupted | ended |
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
 * What keeps the state is answered as done, so that a second click does no harm.
 */
export const StreamStatus = States('StreamStatus', 'What a stream is doing', {
  idle: 'The stream key works. Nothing comes in',
  receiving: 'An encoder sends. Nothing goes out yet',
  starting: 'Told to go live. Waits for the encoder and then goes out at once',
  live: 'Media comes in and goes out',
  interrupted: 'Was live and the encoder is away. Destinations stay connected for `holdSeconds`',
  ended: 'Over, for the reason in `endReason`. The stream key no longer works until the stream is armed again',
})
export type StreamStatus = Static<typeof StreamStatus>

export type Happening =
  | 'ingest_started'
  | 'ingest_ended'
  | 'go_live'
  | 'go_live_and_wait'
  | 'arm'
  | 'stop'
  | 'source_lost'
  | 'minutes_used_up'

const GO_LIVE = { receiving: 'live', starting: 'starting', live: 'live', interrupted: 'interrupted' } as const

const TRANSITIONS: Readonly<Record<Happening, Partial<Readonly<Record<StreamStatus, StreamStatus>>>>> = {
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

/** The state that follows; undefined where the happening makes no sense. */
export function next(status: StreamStatus, happening: Happening): StreamStatus | undefined {
  return TRANSITIONS[happening][status]
}

/** Whether media is relayed as soon as it comes in; such a stream counts against the plan's concurrent streams. */
export function isOnAir(status: StreamStatus): boolean {
  return status === 'starting' || status === 'live' || status === 'interrupted'
}
