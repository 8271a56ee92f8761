import { RenditionNotPossible, StorageLimit } from '../../media/assets/errors.ts'
import { Conflict, NotFound, PlanLimit, ValidationFailed } from '../../../core/errors.ts'
import { operation, owner } from '../../../core/operation.ts'
import { created, done, ok } from '../../../core/reply.ts'
import { Done, Envelope } from '../../../core/schema.ts'
import { MediaUnavailable } from '../streams/errors.ts'
import { StreamPath } from '../streams/schemas.ts'
import { UnfitFile } from './errors.ts'
import { BroadcastEdit, BroadcastView, NewBroadcast } from './schemas.ts'

const ID = '01939c5e-7a3b-7c21-9f58-2f6f2c1d0a11'
const ASSET = '01939c5e-7a3b-7c21-9f58-2f6f2c1d0a31'

export const broadcastFile = operation({
  route: 'POST /api/streams/{id}/broadcast',
  summary: 'Broadcast files of the media library over the stream',
  description:
    'Plays videos at their own pace, as if an encoder sent them: now, or at `scheduledFor`. The stream goes to its destinations with the first frame and ends with the last file. A file that not every platform shows right is made into one that all take, the rendition `live` of its asset. What all take is an MP4 file with progressive 8-bit 4:2:0 H.264 of at most 60 pictures a second, SDR, with square pixels and keyframes at most 4 s apart, and AAC-LC with one or two channels of 44.1 or 48 kHz; neither rotated nor trimmed by what only a player follows (display matrix, edit list). Until the rendition is ready the broadcast is `preparing` and says how far it is; a scheduled one has it made ahead of its time. With `transcode: never` such a file is refused with what is wrong with it. An encoder that publishes meanwhile stands by, and takes over at the end.',
  access: 'streams:manage',
  workspace: owner('streams'),
  turn: true,
  path: StreamPath,
  body: NewBroadcast,
  returns: { 201: Envelope(BroadcastView) },
  errors: [
    NotFound,
    Conflict,
    UnfitFile,
    PlanLimit,
    MediaUnavailable,
    ValidationFailed,
    RenditionNotPossible,
    StorageLimit,
  ],
  example: { path: { id: ID }, body: { assetId: ASSET, loop: true, startAt: 90 } },
  handle: async ({ path, body, turn, fileBroadcasts }) =>
    created('Broadcast', await fileBroadcasts.broadcast(turn, path.id, body)),
})

export const getBroadcast = operation({
  route: 'GET /api/streams/{id}/broadcast',
  summary: 'Say which files are broadcast over the stream, and how far it is',
  description: 'The broadcast under way, else the last one.',
  access: 'streams:read',
  workspace: owner('streams'),
  path: StreamPath,
  returns: { 200: Envelope(BroadcastView) },
  errors: [NotFound],
  example: { path: { id: ID } },
  handle: async ({ path, fileBroadcasts }) => ok('Broadcast', await fileBroadcasts.get(path.id)),
})

export const updateBroadcast = operation({
  route: 'PATCH /api/streams/{id}/broadcast',
  summary: 'Pause, resume, skip or extend a broadcast of files',
  description: 'Files are added as they are: one that no platform would take is refused with what is wrong with it.',
  access: 'streams:manage',
  workspace: owner('streams'),
  turn: true,
  path: StreamPath,
  body: BroadcastEdit,
  returns: { 200: Envelope(BroadcastView) },
  errors: [NotFound, Conflict, UnfitFile, ValidationFailed],
  example: { path: { id: ID }, body: { paused: true } },
  handle: async ({ path, body, turn, fileBroadcasts }) =>
    ok('Broadcast changed', await fileBroadcasts.update(turn, path.id, body)),
})

export const cancelBroadcast = operation({
  route: 'DELETE /api/streams/{id}/broadcast',
  summary: 'End a broadcast of files, or cancel one that has not begun',
  description:
    'What was still being made for it is made no further. The stream itself stays: on the air it waits for an encoder for 60 s. POST /api/streams/{id}/stop ends both at once.',
  access: 'streams:manage',
  workspace: owner('streams'),
  turn: true,
  path: StreamPath,
  returns: { 200: Done },
  errors: [Conflict],
  example: { path: { id: ID } },
  handle: async ({ path, turn, fileBroadcasts }) => {
    await fileBroadcasts.cancel(turn, path.id)
    return done('Broadcast cancelled')
  },
})
