import { Conflict, NotFound, PlanLimit, PreconditionFailed, ValidationFailed } from '../../../core/errors.ts'
import { from, operation, owner } from '../../../core/operation.ts'
import { pageRequest } from '../../../core/page.ts'
import { created, done, list, ok } from '../../../core/reply.ts'
import { Done, Envelope, Id, Input, ListOf, Type } from '../../../core/schema.ts'
import { MediaUnavailable } from '../media-nodes/index.ts'
import {
  ArmedStream,
  GoLive,
  NewStream,
  Platforms,
  StreamEdit,
  StreamingUsageView,
  StreamKeys,
  StreamPath,
  StreamPlatform,
  StreamQuery,
  StreamView,
} from './schemas.ts'
import { SwitchInput } from './inputs.ts'
import { SessionQuery, StreamSessionView } from './session-schemas.ts'

const ID = '01939c5e-7a3b-7c21-9f58-2f6f2c1d0a11'
const WORKSPACE = '01939c5e-7a3b-7c21-9f58-2f6f2c1d0a01'
const DESTINATION = '01939c5e-7a3b-7c21-9f58-2f6f2c1d0a21'

export const listStreams = operation({
  route: 'GET /api/streams',
  summary: 'List streams',
  description:
    'Newest first. Lists have no `streamKey`. GET /api/streams/{id} shows it to members who can manage streams.',
  access: 'streams:read',
  workspace: from.query('workspaceId'),
  query: StreamQuery,
  returns: { 200: ListOf(StreamView) },
  example: { query: { workspaceId: WORKSPACE, status: ['idle', 'live'], limit: 20 } },
  handle: async ({ query, streams }) => list('Streams', await streams.catalog.list(query)),
})

export const createStream = operation({
  route: 'POST /api/streams',
  summary: 'Create a stream',
  description:
    'In OBS, enter `rtmpIngestUrl` as the server and `streamKey` as the key. For tools that take one URL, join both with a slash. A second encoder with `backupStreamKey` is on standby and takes over within 2 s if the first one fails. `inputPreference` selects the one that is relayed while both send.',
  access: 'streams:manage',
  workspace: from.body('workspaceId'),
  turn: true,
  body: NewStream,
  returns: { 201: Envelope(StreamView) },
  errors: [PlanLimit, Conflict],
  example: {
    body: {
      workspaceId: WORKSPACE,
      title: 'Launch day',
      description: 'We show what is new',
      scheduledFor: '2026-12-01T18:00:00Z',
    },
  },
  handle: async ({ body, turn, streams }) => created('Stream created', await streams.catalog.create(turn, body)),
})

export const getStreamingUsage = operation({
  route: 'GET /api/streams/usage',
  summary: 'Get streaming usage',
  description:
    'Minutes of the calendar month in UTC, and the limit of the plan. Minutes count against the plan of the workspace’s owner.',
  access: 'user',
  returns: { 200: Envelope(StreamingUsageView) },
  example: {},
  handle: async ({ caller, streams }) => ok('Streaming usage', await streams.usage.of(caller.userId)),
})

export const getStream = operation({
  route: 'GET /api/streams/{id}',
  summary: 'Get a stream',
  description: '`streamKey` is included for members with `streams:manage`.',
  access: 'streams:read',
  workspace: owner('streams'),
  path: StreamPath,
  etag: 'edits',
  returns: { 200: Envelope(StreamView) },
  example: { path: { id: ID } },
  handle: async ({ path, member, streams }) => ok('Stream', await streams.catalog.get(path.id, member)),
})

export const updateStream = operation({
  route: 'PUT /api/streams/{id}',
  summary: 'Update a stream',
  description:
    'Works while the stream is live. Absent fields keep their values, so that a client that does not know a field cannot reset it. `platforms` replaces the whole list. On a live stream, removed destinations are closed, new ones are connected, and the others are not affected.',
  access: 'streams:manage',
  workspace: owner('streams'),
  turn: true,
  path: StreamPath,
  body: StreamEdit,
  etag: true,
  returns: { 200: Envelope(StreamView) },
  errors: [PlanLimit, PreconditionFailed, Conflict],
  example: { path: { id: ID }, body: { title: 'Launch day, part two', description: 'More of it' } },
  handle: async ({ path, body, ifMatch, turn, streams }) =>
    ok('Stream changed', await streams.catalog.update(turn, path.id, body, ifMatch)),
})

export const deleteStream = operation({
  route: 'DELETE /api/streams/{id}',
  summary: 'Delete a stream',
  access: 'streams:manage',
  workspace: owner('streams'),
  turn: true,
  path: StreamPath,
  query: Input({ force: Type.Optional(Type.Boolean({ description: 'Ends the stream first if it is live' })) }),
  returns: { 200: Done },
  errors: [Conflict, PreconditionFailed],
  example: { path: { id: ID }, query: { force: false } },
  handle: async ({ path, query, ifMatch, turn, streams }) => {
    await streams.catalog.delete(turn, path.id, query.force ?? false, ifMatch)
    return done('Stream deleted')
  },
})

export const armStream = operation({
  route: 'POST /api/streams/{id}/arm',
  summary: 'Arm a stream with a new ingest key',
  description:
    'The old keys stop working at once, and publishers that use them are disconnected. A live stream waits up to `holdSeconds` for a publisher with a new key. An ended stream can go live again. `platforms` replaces the destinations.',
  access: 'streams:manage',
  workspace: owner('streams'),
  turn: true,
  path: StreamPath,
  body: Input({ platforms: Type.Optional(Platforms) }),
  bodyOptional: true,
  returns: { 200: Envelope(ArmedStream) },
  errors: [PlanLimit, ValidationFailed],
  example: { path: { id: ID } },
  handle: async ({ path, body, turn, streams }) =>
    ok('Stream armed', await streams.catalog.arm(turn, path.id, body?.platforms)),
})

export const getStreamKeys = operation({
  route: 'POST /api/streams/{id}/keys',
  summary: 'Get the ingest keys of a stream',
  description:
    'The keys that work now, for an encoder, and `whipUrl` with `whipToken` to publish from a browser. Nothing changes: no key is replaced and no publisher is disconnected. While a publisher sends, WHIP is refused with 409. The audit log names who has asked. POST /api/streams/{id}/arm makes new keys.',
  access: 'streams:manage',
  workspace: owner('streams'),
  turn: true,
  path: StreamPath,
  returns: { 200: Envelope(StreamKeys) },
  headers: ['Cache-Control'],
  errors: [Conflict],
  example: { path: { id: ID } },
  handle: async ({ path, turn, streams }) => ({
    ...ok('Ingest keys', await streams.catalog.showKeys(turn, path.id)),
    headers: { 'Cache-Control': 'no-store' },
  }),
})

export const goLive = operation({
  route: 'POST /api/streams/{id}/go-live',
  summary: 'Start a stream',
  description:
    'Relays the stream to all destinations, or to those named. 409 if no publisher sends, unless `waitForIngest` is set: then the stream goes live with the publisher’s first frame. Repeating the request has no effect.',
  access: 'streams:manage',
  workspace: owner('streams'),
  turn: true,
  path: StreamPath,
  body: GoLive,
  bodyOptional: true,
  returns: { 200: Envelope(StreamView) },
  errors: [Conflict, PlanLimit, MediaUnavailable, ValidationFailed],
  example: { path: { id: ID }, body: { waitForIngest: true } },
  handle: async ({ path, body, member, turn, streams }) =>
    ok(
      'Stream is going live',
      streams.catalog.viewFor(await streams.lifecycle.goLive(turn, path.id, body ?? {}), member),
    ),
})

export const stopStream = operation({
  route: 'POST /api/streams/{id}/stop',
  summary: 'Stop a stream',
  description:
    'Closes the destinations, disconnects the publisher, and disables the key until the stream is armed again.',
  access: 'streams:manage',
  workspace: owner('streams'),
  turn: true,
  path: StreamPath,
  returns: { 200: Envelope(StreamView) },
  errors: [Conflict],
  example: { path: { id: ID } },
  handle: async ({ path, member, turn, streams }) =>
    ok('Stream stopped', streams.catalog.viewFor(await streams.lifecycle.stop(turn, path.id), member)),
})

export const switchInput = operation({
  route: 'POST /api/streams/{id}/switch-input',
  summary: 'Switch to the primary or backup encoder',
  description:
    'Switches at a keyframe, without interruption. The selected encoder is preferred until you select the other one or the stream ends. If it fails, the other one still takes over. 409 if the encoder is not connected.',
  access: 'streams:manage',
  workspace: owner('streams'),
  turn: true,
  path: StreamPath,
  body: SwitchInput,
  returns: { 200: Envelope(StreamView) },
  errors: [Conflict, MediaUnavailable],
  example: { path: { id: ID }, body: { source: 'backup' } },
  handle: async ({ path, body, member, turn, streams }) =>
    ok(
      'Input is being switched',
      streams.catalog.viewFor(await streams.lifecycle.switchInput(turn, path.id, body.source), member),
    ),
})

export const listStreamSessions = operation({
  route: 'GET /api/streams/{id}/sessions',
  summary: 'List the sessions of a stream',
  description: 'Newest first.',
  access: 'streams:read',
  workspace: owner('streams'),
  path: StreamPath,
  query: SessionQuery,
  returns: { 200: ListOf(StreamSessionView) },
  example: { path: { id: ID } },
  handle: async ({ path, query, streams }) =>
    list('Broadcasts', await streams.sessions.list(path.id, pageRequest(query))),
})

export const retryDestination = operation({
  route: 'POST /api/streams/{id}/destinations/{destinationId}/retry',
  summary: 'Retry a destination',
  access: 'streams:manage',
  workspace: owner('streams'),
  turn: true,
  path: Input({ id: Id, destinationId: Id }),
  returns: { 200: Envelope(StreamPlatform) },
  errors: [NotFound, Conflict, MediaUnavailable],
  example: { path: { id: ID, destinationId: DESTINATION } },
  handle: async ({ path, turn, streams }) =>
    ok('Destination is being connected', await streams.lifecycle.retry(turn, path.id, path.destinationId)),
})
