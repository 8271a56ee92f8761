import { Id, Input, named, Nullable, States, Timestamp, Type, type Static } from '../../../core/schema.ts'
import { DestinationStatus } from '../streams/index.ts'

export const SessionPath = Input({ id: Id, sessionId: Id })

const GapCode = States('StreamGapReason', 'Why a time of a live session has no value', {
  not_measured: 'No media node reported this time, for example because it was restarted',
  no_publisher: 'No publisher sent in this time',
})

const Gap = Nullable(Type.Object({ code: GapCode, message: Type.String({ description: 'The reason, for people' }) }))
const whole = (description: string) => Type.Integer({ description })
const maybe = (description: string) => Nullable(Type.Number({ description }))

const Point = Type.Object({
  at: Timestamp,
  viewers: Nullable(Type.Integer({ description: 'The most viewers of the preview at the same time' })),
  bitrate: maybe('Bits per second that the publisher sent, on average over the time in which it sent'),
  publisherSeconds: maybe('Seconds with a publisher'),
  gap: Gap,
})

const DestinationPoint = Type.Object({
  at: Timestamp,
  status: Nullable(DestinationStatus),
  liveShare: maybe('The share of the measured time in which the destination was `live`: 1 is all of it'),
  bitrate: maybe('Bits per second that were sent to it, on average'),
  droppedVideo: Nullable(whole('Video messages that were dropped')),
  droppedAudio: Nullable(whole('Audio messages that were dropped')),
  reconnects: Nullable(whole('How often it was connected again')),
})

const Destination = Type.Object({
  destinationId: Id,
  name: Type.String({ description: 'Empty if it was removed during the session and nothing was sent to it' }),
  platform: Type.String(),
  liveShare: maybe('The share of the measured time of the session in which it was `live`'),
  bitrate: maybe('Bits per second that were sent to it, on average over the session'),
  droppedVideo: whole('Video messages that were dropped in the session'),
  droppedAudio: whole('Audio messages that were dropped in the session'),
  reconnects: whole('How often it was connected again in the session'),
  points: Type.Array(DestinationPoint, { description: 'At the same times as `points` of the session' }),
})

export const SessionSeries = named(
  'StreamSessionSeries',
  Type.Object({
    streamId: Id,
    sessionId: Id,
    startedAt: Timestamp,
    endedAt: Nullable(Timestamp),
    stepSeconds: whole('The length of a step. Longer sessions have longer steps'),
    peakViewers: whole('The most viewers of the preview at the same time'),
    publisherSeconds: maybe('Measured seconds with a publisher. Null if nothing was measured'),
    bitrate: maybe('Bits per second that the publisher sent, on average over the time in which it sent'),
    points: Type.Array(Point),
    destinations: Type.Array(Destination),
  }),
)
export type SessionSeriesData = Static<typeof SessionSeries>
