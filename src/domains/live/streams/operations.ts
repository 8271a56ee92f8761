import { Conflict, NotFound, PlanLimit, PreconditionFailed, ValidationFailed } from '../../../core/errors.ts'
import { from, operation, owner } from '../../../core/operation.ts'
import { pageRequest } from '../../../core/page.ts'
import { created, done, list, LiveBody, ok, reply } from '../../../core/reply.ts'
import { Done, Envelope, Id, Input, ListOf, Type } from '../../../core/schema.ts'
import { MediaUnavailable } from './errors.ts'
import {
  ArmedStream,
  DestinationQuery,
  GoLive,
  NewRtmpDestination,
  NewStream,
  Platforms,
  PreviewQuery,
  PreviewToken,
  RtmpDestinationView,
  StreamEdit,
  StreamingUsageView,
  StreamPath,
  StreamPlatform,
  StreamQuery,
  StreamView,
} from './schemas.ts'
import { RelayHealthView, RelayStatusView } from './relay-schemas.ts'
import { SwitchInput } from './inputs.ts'
import { SessionQuery, StreamSessionView } from './session-schemas.ts'

const ID = '01939c5e-7a3b-7c21-9f58-2f6f2c1d0a11'
const WORKSPACE = '01939c5e-7a3b-7c21-9f58-2f6f2c1d0a01'
const DESTINATION = '01939c5e-7a3b-7c21-9f58-2f6f2c1d0a21'

export const listStreams = operation({
  route: 'GET /api/streams',
  summary: 'List streams, newest first',
  description: 'Lists have no `streamKey`. GET /api/streams/{id} shows it to members who can manage streams.',
  access: 'streams:read',
  workspace: from.query('workspaceId'),
  query: StreamQuery,
  returns: { 200: ListOf(StreamView) },
  example: { query: { workspaceId: WORKSPACE, status: 'idle', limit: 20 } },
  handle: async ({ query, streams }) => list('Streams', await streams.list(query)),
})

export const createStream = operation({
  route: 'POST /api/streams',
  summary: 'Create a stream',
  description:
    'In OBS, enter `rtmpIngestUrl` as the server and `streamKey` as the key. For tools that take one URL, join both with a slash. A second encoder with `backupStreamKey` stands by and takes over within 2 s if the first one fails. `inputPreference` says which one is on the air while both send.',
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
  handle: async ({ body, turn, streams }) => created('Stream created', await streams.create(turn, body)),
})

export const getRelayHealth = operation({
  route: 'GET /api/streams/relay/health',
  summary: 'Get relay health',
  description: 'The state of the media nodes, and your active streams.',
  access: 'user',
  returns: { 200: Envelope(RelayHealthView) },
  example: {},
  handle: async ({ caller, relayStatus }) => ok('Relay health', await relayStatus.health(caller.userId)),
})

export const getStreamingUsage = operation({
  route: 'GET /api/streams/usage',
  summary: 'Get streaming usage',
  description:
    'Minutes of the calendar month in UTC, and the limit of the plan. Minutes count against the plan of the workspace’s owner.',
  access: 'user',
  returns: { 200: Envelope(StreamingUsageView) },
  example: {},
  handle: async ({ caller, streamingUsage }) => ok('Streaming usage', await streamingUsage.of(caller.userId)),
})

export const listRtmpDestinations = operation({
  route: 'GET /api/streams/rtmp-destinations',
  summary: 'List RTMP destinations',
  access: 'streams:read',
  workspace: from.query('workspaceId'),
  query: DestinationQuery,
  returns: { 200: ListOf(RtmpDestinationView) },
  example: { query: { workspaceId: WORKSPACE } },
  handle: async ({ query, rtmpDestinations }) =>
    list('RTMP destinations', await rtmpDestinations.list(query.workspaceId, pageRequest(query))),
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
  handle: async ({ body, turn, rtmpDestinations }) =>
    created('RTMP destination added', await rtmpDestinations.create(turn, body)),
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
  handle: async ({ path, turn, rtmpDestinations }) => {
    await rtmpDestinations.delete(turn, path.id)
    return done('RTMP destination deleted')
  },
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
  handle: async ({ path, member, streams }) => ok('Stream', await streams.get(path.id, member)),
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
    ok('Stream changed', await streams.update(turn, path.id, body, ifMatch)),
})

export const deleteStream = operation({
  route: 'DELETE /api/streams/{id}',
  summary: 'Delete a stream',
  access: 'streams:manage',
  workspace: owner('streams'),
  turn: true,
  path: StreamPath,
  query: Input({ force: Type.Optional(Type.Boolean({ description: 'Also while it is live: ends it first' })) }),
  returns: { 200: Done },
  errors: [Conflict, PreconditionFailed],
  example: { path: { id: ID }, query: { force: false } },
  handle: async ({ path, query, ifMatch, turn, streams }) => {
    await streams.delete(turn, path.id, query.force ?? false, ifMatch)
    return done('Stream deleted')
  },
})

export const armStream = operation({
  route: 'POST /api/streams/{id}/arm',
  summary: 'Arm a stream with a new ingest key',
  description:
    'The old keys stop working at once, and publishers that use them are disconnected. A live stream waits for a publisher with a new key for its `holdSeconds`. An ended stream can go live again. `platforms` replaces the destinations.',
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
    ok('Stream armed', await streams.arm(turn, path.id, body?.platforms)),
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
  handle: async ({ path, body, member, turn, broadcasts, streams }) =>
    ok('Stream is going live', streams.viewFor(await broadcasts.goLive(turn, path.id, body ?? {}), member)),
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
  handle: async ({ path, member, turn, broadcasts, streams }) =>
    ok('Stream stopped', streams.viewFor(await broadcasts.stop(turn, path.id), member)),
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
  handle: async ({ path, body, member, turn, broadcasts, streams }) =>
    ok('Input is being switched', streams.viewFor(await broadcasts.switchInput(turn, path.id, body.source), member)),
})

export const getRelayStatus = operation({
  route: 'GET /api/streams/{id}/relay',
  summary: 'Get relay status',
  description: 'What the publisher sends, and the state of every destination.',
  access: 'streams:read',
  workspace: owner('streams'),
  path: StreamPath,
  returns: { 200: Envelope(RelayStatusView) },
  example: { path: { id: ID } },
  handle: async ({ path, relayStatus }) => ok('Relay status', await relayStatus.of(path.id)),
})

export const listStreamSessions = operation({
  route: 'GET /api/streams/{id}/sessions',
  summary: 'List the sessions of a stream, newest first',
  access: 'streams:read',
  workspace: owner('streams'),
  path: StreamPath,
  query: SessionQuery,
  returns: { 200: ListOf(StreamSessionView) },
  example: { path: { id: ID } },
  handle: async ({ path, query, streamSessions }) =>
    list('Broadcasts', await streamSessions.list(path.id, pageRequest(query))),
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
  handle: async ({ path, turn, broadcasts }) =>
    ok('Destination is being connected', await broadcasts.retry(turn, path.id, path.destinationId)),
})

export const createPreviewToken = operation({
  route: 'POST /api/streams/{id}/preview-token',
  summary: 'Create a preview token',
  description:
    'The token is for one stream and starts a preview within ten minutes; an open preview continues. It becomes invalid when the stream is stopped or armed again, or when the session or API key behind it ends; previews end within seconds then. `pageUrl` is a page of this server that plays the preview.',
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
    'Starts with a keyframe at once. It ends with the stream, or with your right to watch: the membership, its scope, the session or the API key. A slow client skips pictures up to a keyframe. `token` is a preview token, for players that cannot send headers.',
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

export * from './whip-operations.ts'
export * from '../previews/whep-operations.ts'
