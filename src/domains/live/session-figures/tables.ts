import { defineEntity, p } from '@mikro-orm/postgresql'
import { keyReferences, timestamp } from '../../../db/columns.ts'
import { table } from '../../../db/table.ts'
import { StreamSession, type ShownDestinationState } from '../streams/index.ts'

const ofSession = (name: string) => keyReferences(StreamSession, { name, onDelete: 'cascade' })

/**
 * What media nodes measured in ten seconds of a live session. All columns but `viewers` are sums, so two nodes that have
 * the stream one after the other add up. A step without a row was not measured.
 */
export const StreamSample = defineEntity({
  name: 'StreamSample',
  tableName: 'stream_samples',
  properties: {
    sessionId: ofSession('stream_samples_session_id_fkey'),
    /** The start of the step: a multiple of ten seconds. */
    at: timestamp().primary().index('stream_samples_by_age'),
    measuredMs: p.integer(),
    /** Of `measuredMs`, with a publisher. */
    publisherMs: p.integer(),
    /** Received in `publisherMs`. */
    receivedBits: p.double().$type<number>(),
    /** The most at the same time. */
    viewers: p.integer(),
  },
})

/** What media nodes measured of one destination in ten seconds of a live session. */
export const StreamDestinationSample = defineEntity({
  name: 'StreamDestinationSample',
  tableName: 'stream_destination_samples',
  properties: {
    sessionId: ofSession('stream_destination_samples_session_id_fkey'),
    /** The destination may have been removed since. */
    destinationId: p.uuid().primary(),
    at: timestamp().primary().index('stream_destination_samples_by_age'),
    measuredMs: p.integer(),
    /** Of `measuredMs`, in the state `live`. */
    liveMs: p.integer(),
    sentBits: p.double().$type<number>(),
    droppedVideo: p.integer(),
    droppedAudio: p.integer(),
    reconnects: p.integer(),
    /** The last state of the step. */
    status: p.text().$type<ShownDestinationState>(),
  },
})

export const sessionFigureEntities = [StreamSample, StreamDestinationSample]
export const streamSamples = table(StreamSample)
export const streamDestinationSamples = table(StreamDestinationSample)
