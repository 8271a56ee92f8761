import { Conflict, NotFound, Overloaded } from '../../../core/errors.ts'
import { operation } from '../../../core/operation.ts'
import { empty, RawBody, reply } from '../../../core/reply.ts'
import { Id, Input, Type } from '../../../core/schema.ts'
import { MediaUnavailable, NoUsableCodec } from '../streams/errors.ts'
import { StreamPath } from '../streams/schemas.ts'
import { exampleOffer, MOST_SDP_BYTES, Sdp } from '../streams/sdp-schema.ts'

/** Watching by WHEP (draft-ietf-wish-whep): a preview with the delay of a call. */

const ID = '01939c5e-7a3b-7c21-9f58-2f6f2c1d0a11'
const SESSION = '7b1f0c9a2d3e4f5061728394a5b6c7d8'

export const whepPlay = operation({
  route: 'POST /api/streams/{id}/whep',
  summary: 'Watch what the stream takes in by WHEP: an SDP offer in, an answer out',
  description:
    'With `token` of POST /api/streams/{id}/preview-token as bearer token. H.264 as it comes in, AAC as Opus; it begins with a keyframe at once. Pictures in another codec, or that refer to later ones (B-frames), cannot be shown so and are answered with 406: `preview.flv` has them. Counts as a viewer and ends as one of `preview.flv` does.',
  access: 'public',
  bearer: 'own',
  limit: 'auth',
  path: StreamPath,
  body: Sdp,
  bodyType: 'application/sdp',
  bodyLimit: MOST_SDP_BYTES,
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
  description: 'Closing the connection does as well, also when the token has expired meanwhile.',
  access: 'public',
  bearer: 'own',
  path: Input({ id: Id, session: Type.String({ pattern: '^[0-9a-f]{32}$', description: 'From Location' }) }),
  returns: { 200: null },
  errors: [Conflict, MediaUnavailable, NotFound],
  example: { path: { id: ID, session: SESSION } },
  handle: async ({ bearer, path, previews }) => {
    await previews.stop(path.id, bearer, path.session)
    return empty()
  },
})
