import { Conflict } from '../../../core/errors.ts'
import { operation, owner } from '../../../core/operation.ts'
import { created, LiveBody, reply } from '../../../core/reply.ts'
import { Envelope } from '../../../core/schema.ts'
import { MediaUnavailable } from '../media-nodes/index.ts'
import { StreamPath } from '../streams/index.ts'
import { PreviewQuery, PreviewToken } from './schemas.ts'

const ID = '01939c5e-7a3b-7c21-9f58-2f6f2c1d0a11'

export const createPreviewToken = operation({
  route: 'POST /api/streams/{id}/preview-token',
  summary: 'Create a preview token',
  description:
    'The token is for one stream and can start a preview for ten minutes. A preview that is open then continues. It becomes invalid when the stream is stopped or armed again, or when the session or API key that created it ends. Open previews then end within seconds. `pageUrl` is a page of this server that plays the preview.',
  access: 'streams:read',
  workspace: owner('streams'),
  path: StreamPath,
  returns: { 201: Envelope(PreviewToken) },
  errors: [Conflict],
  example: { path: { id: ID } },
  handle: async ({ path, caller, previews }) =>
    created('Preview token created', await previews.createToken(path.id, caller)),
})

export const previewStream = operation({
  route: 'GET /api/streams/{id}/preview.flv',
  summary: 'Preview a stream as FLV',
  description:
    'Starts with a keyframe at once. It ends when the stream ends, or when you lose access: your membership, its scope, your session or your API key. A slow client skips frames up to the next keyframe. `token` is a preview token, for players that cannot send headers.',
  access: 'streams:read',
  workspace: owner('streams'),
  path: StreamPath,
  query: PreviewQuery,
  ticket: 'token',
  returns: { 200: { contentType: 'video/x-flv', live: true } },
  errors: [Conflict, MediaUnavailable],
  example: { path: { id: ID } },
  handle: async ({ path, query, caller, member, previews }) => {
    const token = caller.via === 'ticket' ? query.token : undefined
    return reply(200, new LiveBody('video/x-flv', await previews.watch(path.id, caller, member, token)))
  },
})

export * from './whep-operations.ts'
