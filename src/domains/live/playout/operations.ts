import { RenditionNotPossible, StorageLimit } from '../../media/assets/index.ts'
import { Conflict, NotFound, PlanLimit, ValidationFailed } from '../../../core/errors.ts'
import { operation, owner } from '../../../core/operation.ts'
import { created, done, ok } from '../../../core/reply.ts'
import { Done, Envelope } from '../../../core/schema.ts'
import { MediaUnavailable } from '../media-nodes/index.ts'
import { StreamPath } from '../streams/index.ts'
import { UnfitFile } from './errors.ts'
import { BroadcastEdit, BroadcastView, NewBroadcast } from './schemas.ts'

const ID = '01939c5e-7a3b-7c21-9f58-2f6f2c1d0a11'
const ASSET = '01939c5e-7a3b-7c21-9f58-2f6f2c1d0a31'

export const broadcastFile = operation({
  route: 'POST /api/streams/{id}/broadcast',
  summary: 'Broadcast files on a stream',
  description:
    'Plays videos in real time, as if an encoder sent them, now or at `scheduledFor`. The stream goes to its destinations with the first frame and ends with the last file. All platforms can play an MP4 file with progressive 8-bit 4:2:0 H.264, at most 60 frames a second, SDR, square pixels, keyframes at most 4 s apart, and AAC-LC with one or two channels at 44.1 or 48 kHz, without a display matrix or an edit list. For other files the rendition `live` is made first; until then the broadcast is `preparing` and shows the progress. For a scheduled broadcast it is made in advance. With `transcode: never` such a file is refused with the reason. An encoder that connects during the broadcast is on standby and takes over at the end.',
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
  handle: async ({ path, body, turn, playout }) => created('Broadcast', await playout.create(turn, path.id, body)),
})

export const getBroadcast = operation({
  route: 'GET /api/streams/{id}/broadcast',
  summary: 'Get a file broadcast',
  description: 'The open file broadcast of the stream, or its last one.',
  access: 'streams:read',
  workspace: owner('streams'),
  path: StreamPath,
  returns: { 200: Envelope(BroadcastView) },
  errors: [NotFound],
  example: { path: { id: ID } },
  handle: async ({ path, playout }) => ok('Broadcast', await playout.get(path.id)),
})

export const updateBroadcast = operation({
  route: 'PATCH /api/streams/{id}/broadcast',
  summary: 'Update a file broadcast',
  description:
    'Pauses, resumes, skips to another file, seeks, or adds files. Added files are not transcoded. A file that not all platforms can play is refused with the reason.',
  access: 'streams:manage',
  workspace: owner('streams'),
  turn: true,
  path: StreamPath,
  body: BroadcastEdit,
  returns: { 200: Envelope(BroadcastView) },
  errors: [NotFound, Conflict, UnfitFile, ValidationFailed],
  example: { path: { id: ID }, body: { paused: true } },
  handle: async ({ path, body, turn, playout }) => ok('Broadcast changed', await playout.update(turn, path.id, body)),
})

export const cancelBroadcast = operation({
  route: 'DELETE /api/streams/{id}/broadcast',
  summary: 'Cancel a file broadcast',
  description:
    'Stops a running broadcast, or cancels one that has not started, and stops its transcodes. The stream stays live and waits for an encoder for 60 s. POST /api/streams/{id}/stop ends both.',
  access: 'streams:manage',
  workspace: owner('streams'),
  turn: true,
  path: StreamPath,
  returns: { 200: Done },
  errors: [Conflict],
  example: { path: { id: ID } },
  handle: async ({ path, turn, playout }) => {
    await playout.cancel(turn, path.id)
    return done('Broadcast cancelled')
  },
})
