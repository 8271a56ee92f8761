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
  summary: 'List the streams of a workspace, newest first',
  description:
    'Without `streamKey`: a list carries no secrets. GET /api/streams/{id} shows it to those who may manage streams.',
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
    'The reply has what to enter in OBS: `rtmpIngestUrl` as server and `streamKey` as key. A tool that takes one URL gets both, joined by a slash. A second encoder with `backupStreamKey` stands by: it takes over within 2 s when the first one ends or falls silent. `inputPreference` says which one is on the air while both send.',
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
  summary: 'Say how the media nodes are, and list your active streams',
  access: 'user',
  returns: { 200: Envelope(RelayHealthView) },
  example: {},
  handle: async ({ caller, relayStatus }) => ok('Relay health', await relayStatus.health(caller.userId)),
})

export const getStreamingUsage = operation({
  route: 'GET /api/streams/usage',
  summary: 'Say what you have streamed this month and what your plan allows',
  description: 'Minutes count against the plan of whoever owns the workspace, by the calendar month in UTC.',
  access: 'user',
  returns: { 200: Envelope(StreamingUsageView) },
  example: {},
  handle: async ({ caller, streamingUsage }) => ok('Streaming usage', await streamingUsage.of(caller.userId)),
})

export const listRtmpDestinations = operation({
  route: 'GET /api/streams/rtmp-destinations',
  summary: 'List custom RTMP destinations',
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
  summary: 'Add an RTMP or RTMPS destination',
  description:
    'A well-known platform by its name, or any server by its URL. The key is stored encrypted and is never shown again; what cannot be a key (a whole URL, another platform’s key) is refused with help. Addresses of private networks are refused.',
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
  summary: 'Delete a custom RTMP destination',
  description: 'Streams that name it lose it. Refused while a stream on the air uses it.',
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
  description: '`streamKey` is there only for members with `streams:manage`.',
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
  summary: 'Change a stream, also while it is live',
  description:
    'Fields that are absent keep their values, so that a program that does not know a new field does not reset it. `platforms` replaces the whole list: on the air, destinations that leave are closed, new ones are connected, and the others notice nothing.',
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
  summary: 'Get a new ingest key',
  description:
    'The old keys stop working at once and their publishers are dropped. A stream that was live waits for a publisher with a new key, for its `holdSeconds`; one that had ended can go live again. `platforms` replaces the destinations.',
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
  summary: 'Send the stream to its destinations',
  description:
    'To all destinations, or to those named. 409 when nothing is being ingested, unless `waitForIngest` is set: then it goes live with the publisher’s first frame. Repeating it does no harm.',
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
  summary: 'End the stream',
  description: 'Closes the destinations, drops the publisher, and ends the key until the stream is armed again.',
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
  summary: 'Put the primary or the backup encoder on the air',
  description:
    'Without an interruption, at a keyframe. The encoder that is selected is preferred until another one is, or the stream ends; when it fails, the other one still takes over. 409 when it is not connected.',
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
  summary: 'Say what comes in and how every destination fares',
  access: 'streams:read',
  workspace: owner('streams'),
  path: StreamPath,
  returns: { 200: Envelope(RelayStatusView) },
  example: { path: { id: ID } },
  handle: async ({ path, relayStatus }) => ok('Relay status', await relayStatus.of(path.id)),
})

export const listStreamSessions = operation({
  route: 'GET /api/streams/{id}/sessions',
  summary: 'List the broadcasts of a stream, newest first',
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
  summary: 'Connect a failed destination now',
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
  summary: 'Get a token that lets a browser watch the stream',
  description:
    'For this one stream and ten minutes, in which watching must begin; what was opened in time goes on. It dies when the stream stops or is armed again, and with the session or API key that asked for it, which ends what is being watched within seconds. `pageUrl` is a page of this server that plays it.',
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
  summary: 'Watch what the stream takes in, as FLV',
  description:
    'Begins with a keyframe at once and goes on until the stream ends, or the right to watch does: the membership or its scope, or the session or API key by which it was opened. Who does not keep up is given what is newest: pictures are left out up to a keyframe. `token` is a preview token, for players that send no headers.',
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
