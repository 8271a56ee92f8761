import { Conflict, Forbidden, NotFound, Overloaded, PreconditionFailed } from '../../../core/errors.ts'
import { FfmpegMissing } from '../../../content/errors.ts'
import { operation } from '../../../core/operation.ts'
import { empty, RawBody, reply } from '../../../core/reply.ts'
import { Input, Type } from '../../../core/schema.ts'
import {
  exampleOffer,
  IceRestartUnsupported,
  MediaUnavailable,
  MAX_SDP_BYTES,
  NoUsableCodec,
  Sdp,
} from '../media-nodes/index.ts'

/** Publishing with WHIP (RFC 9725), which browsers, OBS and GStreamer support. */

const PATH = '3f6c1d2e9a0b4c5d'
const SESSION = '7b1f0c9a2d3e4f5061728394a5b6c7d8'

const WhipPath = Type.String({
  pattern: '^[0-9a-f]{16}$',
  description: 'Part of the `whipUrl` that arming the stream returns',
})
const SessionPath = Input({
  path: WhipPath,
  session: Type.String({ pattern: '^[0-9a-f]{32}$', description: 'From the Location header of the POST reply' }),
})

const FRAGMENT = ['a=ice-ufrag:abcd', 'a=ice-pwd:abcdefghijklmnopqrstuvwx', 'm=video 9 UDP/TLS/RTP/SAVPF 0', 'a=mid:0']

export const whipPublish = operation({
  route: 'POST /api/streams/whip/{path}',
  summary: 'Publish a stream with WHIP',
  description:
    'RFC 9725: send an SDP offer and get the answer. Use `whipToken` of POST /api/streams/{id}/arm as the bearer token. H.264 is relayed unchanged, VP8 is transcoded to H.264, and Opus to AAC. Destinations get one resolution: if the publisher changes its resolution, the video is transcoded to the first one. With `normalise` all video is transcoded to 1280×720 at 30 frames a second. 409 while another publisher sends; one that has sent nothing for 2 s is replaced.',
  access: 'public',
  bearer: 'own',
  limit: 'auth',
  path: Input({ path: WhipPath }),
  query: Input({ normalise: Type.Optional(Type.Boolean({ default: false })) }),
  body: Sdp,
  bodyType: 'application/sdp',
  bodyLimit: MAX_SDP_BYTES,
  returns: { 201: { contentType: 'application/sdp' } },
  headers: ['Location', 'ETag', 'Link'],
  errors: [Conflict, FfmpegMissing, Forbidden, MediaUnavailable, NoUsableCodec, Overloaded],
  example: { path: { path: PATH }, body: exampleOffer('sendonly') },
  handle: async ({ bearer, body, path, query, remoteAddress, mediaLink }) => {
    const credential = { path: path.path, token: bearer }
    const opened = await mediaLink.whip.publish(credential, {
      sdp: body,
      normalise: query.normalise ?? false,
      remoteAddress,
    })
    return reply(201, new RawBody('application/sdp', opened.sdp), {
      Location: `/api/streams/whip/${path.path}/${opened.session}`,
      ETag: `"${opened.etag}"`,
      ...opened.links,
    })
  },
})

export const whipTrickle = operation({
  route: 'PATCH /api/streams/whip/{path}/{session}',
  summary: 'Add ICE candidates to a WHIP session',
  description:
    'RFC 9725, section 4.3. Candidates are accepted but not needed: the connection is found from the client’s own checks. If-Match is optional. ICE restarts get 422.',
  access: 'public',
  bearer: 'own',
  path: SessionPath,
  body: Sdp,
  bodyType: 'application/trickle-ice-sdpfrag',
  bodyLimit: MAX_SDP_BYTES,
  returns: { 204: null },
  errors: [IceRestartUnsupported, MediaUnavailable, NotFound, PreconditionFailed],
  example: { path: { path: PATH, session: SESSION }, body: `${FRAGMENT.join('\r\n')}\r\n` },
  handle: async ({ bearer, body, ifMatch, path, mediaLink }) => {
    await mediaLink.whip.trickle({ path: path.path, token: bearer }, path.session, body, ifMatch)
    return reply(204, undefined)
  },
})

export const whipDelete = operation({
  route: 'DELETE /api/streams/whip/{path}/{session}',
  summary: 'End a WHIP session',
  description: 'The stream then waits up to `holdSeconds` for a publisher, as with RTMP.',
  access: 'public',
  bearer: 'own',
  path: SessionPath,
  returns: { 200: null },
  errors: [MediaUnavailable, NotFound],
  example: { path: { path: PATH, session: SESSION } },
  handle: async ({ bearer, path, mediaLink }) => {
    await mediaLink.whip.end({ path: path.path, token: bearer }, path.session)
    return empty()
  },
})
