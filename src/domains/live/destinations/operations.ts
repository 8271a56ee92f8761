import { Conflict, PlanLimit } from '../../../core/errors.ts'
import { from, operation, owner } from '../../../core/operation.ts'
import { pageRequest } from '../../../core/page.ts'
import { created, done, list } from '../../../core/reply.ts'
import { Done, Envelope, Id, Input, ListOf } from '../../../core/schema.ts'
import { DestinationQuery, NewRtmpDestination, RtmpDestinationView } from './schemas.ts'

const WORKSPACE = '01939c5e-7a3b-7c21-9f58-2f6f2c1d0a01'
const DESTINATION = '01939c5e-7a3b-7c21-9f58-2f6f2c1d0a21'

export const listRtmpDestinations = operation({
  route: 'GET /api/streams/rtmp-destinations',
  summary: 'List RTMP destinations',
  access: 'streams:read',
  workspace: from.query('workspaceId'),
  query: DestinationQuery,
  returns: { 200: ListOf(RtmpDestinationView) },
  example: { query: { workspaceId: WORKSPACE } },
  handle: async ({ query, destinations }) =>
    list('RTMP destinations', await destinations.rtmp.list(query.workspaceId, pageRequest(query))),
})

export const createRtmpDestination = operation({
  route: 'POST /api/streams/rtmp-destinations',
  summary: 'Create an RTMP destination',
  description:
    'Choose a known platform by name, or any RTMP or RTMPS server by URL. The key is stored encrypted and never shown again. A value that cannot be a key (a whole URL, another platform’s key) is refused with an explanation. Private addresses are refused.',
  access: 'streams:manage',
  workspace: from.body('workspaceId'),
  turn: true,
  body: NewRtmpDestination,
  returns: { 201: Envelope(RtmpDestinationView) },
  errors: [PlanLimit],
  example: {
    body: {
      workspaceId: WORKSPACE,
      name: 'Our own server',
      url: 'rtmps://live.example.com/app',
      streamKey: 'abcd-efgh-ijkl-mnop',
    },
  },
  handle: async ({ body, turn, destinations }) =>
    created('RTMP destination added', await destinations.rtmp.create(turn, body)),
})

export const deleteRtmpDestination = operation({
  route: 'DELETE /api/streams/rtmp-destinations/{id}',
  summary: 'Delete an RTMP destination',
  description: 'It is removed from the streams that use it. Refused while a live stream uses it.',
  access: 'streams:manage',
  workspace: owner('rtmp_destinations'),
  turn: true,
  path: Input({ id: Id }),
  returns: { 200: Done },
  errors: [Conflict],
  example: { path: { id: DESTINATION } },
  handle: async ({ path, turn, destinations }) => {
    await destinations.rtmp.delete(turn, path.id)
    return done('RTMP destination deleted')
  },
})
