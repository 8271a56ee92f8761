import { Conflict, NotFound, Overloaded } from '../../../core/errors.ts'
import { operation } from '../../../core/operation.ts'
import { empty, RawBody, reply } from '../../../core/reply.ts'
import { Id, Input, Type } from '../../../core/schema.ts'
import { exampleOffer, MediaUnavailable, MAX_SDP_BYTES, NoUsableCodec, Sdp } from '../media-nodes/index.ts'
import { StreamPath } from '../streams/index.ts'

/** Playing with WHEP (draft-ietf-wish-whep): a preview with low latency. */

const ID = '01939c5e-7a3b-7c21-9f58-2f6f2c1d0a11'
const SESSION = '7b1f0c9a2d3e4f5061728394a5b6c7d8'

export const whepPlay = operation({
  route: 'POST /api/streams/{id}/whep',
  summary: 'Preview a stream with WHEP',
  description:
    'Send an SDP offer and get the answer. Use `token` of POST /api/streams/{id}/preview-token as the bearer token. H.264 is sent unchanged, starting with a keyframe, and AAC is transcoded to Opus. Other codecs, and video with B-frames, get 406: use `preview.flv`. A player counts as a viewer and is disconnected like one of `preview.flv`.',
  access: 'public',
  bearer: 'own',
  limit: 'auth',
  path: StreamPath,
  body: Sdp,
  bodyType: 'application/sdp',
  bodyLimit: MAX_SDP_BYTES,
  returns: { 201: { contentType: 'application/sdp' } },
  headers: ['Location', 'Link'],
  errors: [Conflict, MediaUnavailable, NotFound, NoUsableCodec, Overloaded],
  example: { path: { id: ID }, body: exampleOffer('recvonly') },
  handle: async ({ bearer, body, path, previews }) => {
    const opened = await previews.play(path.id, bearer, body)
    return reply(201, new RawBody('application/sdp', opened.sdp), {
      Location: `/api/streams/${path.id}/whep/${opened.session}`,
      ...opened.links,
    })
  },
})

export const whepDelete = operation({
  route: 'DELETE /api/streams/{id}/whep/{session}',
  summary: 'End a WHEP session',
  description: 'Closing the connection has the same effect, also after the token has expired.',
  access: 'public',
  bearer: 'own',
  path: Input({
    id: Id,
    session: Type.String({ pattern: '^[0-9a-f]{32}$', description: 'From the Location header of the POST reply' }),
  }),
  returns: { 200: null },
  errors: [Conflict, MediaUnavailable, NotFound],
  example: { path: { id: ID, session: SESSION } },
  handle: async ({ bearer, path, previews }) => {
    await previews.stop(path.id, bearer, path.session)
    return empty()
  },
})
