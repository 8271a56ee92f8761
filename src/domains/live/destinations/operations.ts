import { Conflict, PlanLimit } from '../../../core/errors.ts'
import { from, operation, owner } from '../../../core/operation.ts'
import { pageRequest } from '../../../core/page.ts'
import { created, done, list, ok } from '../../../core/reply.ts'
import { Done, Envelope, Id, Input, ListOf } from '../../../core/schema.ts'
import { PublicTestUnconfirmed } from './errors.ts'
import {
  DestinationQuery,
  NewRtmpDestination,
  RtmpDestinationEdit,
  RtmpDestinationTestInput,
  RtmpDestinationTestView,
  RtmpDestinationView,
} from './schemas.ts'

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

export const updateRtmpDestination = operation({
  route: 'PATCH /api/streams/rtmp-destinations/{id}',
  summary: 'Change an RTMP destination',
  description:
    'Fields that are left out stay. A new server or key applies to live streams at once: this destination disconnects and connects again with them, which interrupts it there for some seconds. Other destinations of the stream are not touched. A new name never interrupts anything.',
  access: 'streams:manage',
  workspace: owner('rtmp_destinations'),
  turn: true,
  path: Input({ id: Id }),
  body: RtmpDestinationEdit,
  returns: { 200: Envelope(RtmpDestinationView) },
  errors: [],
  example: { path: { id: DESTINATION }, body: { name: 'Second channel', streamKey: 'qrst-uvwx-yzab-cdef' } },
  handle: async ({ body, path, turn, destinations }) => {
    const { destination, live } = await destinations.rtmp.update(turn, path.id, body)
    return ok(live.length === 0 ? 'RTMP destination changed' : reconnects(live), destination)
  },
})

const reconnects = (titles: readonly string[]): string =>
  `RTMP destination changed. It reconnects now in: ${titles.map((title) => `“${title}”`).join(', ')}`

export const testRtmpDestination = operation({
  route: 'POST /api/streams/rtmp-destinations/{id}/test',
  summary: 'Test an RTMP destination',
  description:
    'Connects to the server, publishes five seconds of a still picture with silence, and closes. The reply says how far it got and what to do. It takes up to half a minute. Known platforms may show the test to viewers, so they need `confirmPublic`. Refused while a live stream uses the destination, because most servers would end that broadcast. One test of a destination and two of a workspace run at a time.',
  access: 'streams:manage',
  workspace: owner('rtmp_destinations'),
  turn: true,
  path: Input({ id: Id }),
  body: RtmpDestinationTestInput,
  bodyOptional: true,
  returns: { 200: Envelope(RtmpDestinationTestView) },
  errors: [Conflict, PublicTestUnconfirmed],
  example: { path: { id: DESTINATION }, body: { confirmPublic: true } },
  before: ({ body, destinations, member, path }) =>
    destinations.tests.run(member.workspaceId, path.id, body?.confirmPublic),
  handle: async ({ destinations, prepared, turn }) => {
    await destinations.tests.record(turn, prepared)
    return ok(prepared.passed ? 'The destination works' : 'The destination does not work', prepared)
  },
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
