import { operation, owner } from '../../../core/operation.ts'
import { ok } from '../../../core/reply.ts'
import { Envelope } from '../../../core/schema.ts'
import { StreamPath } from '../streams/index.ts'
import { RelayHealthView, RelayStatusView } from './relay-schemas.ts'

const ID = '01939c5e-7a3b-7c21-9f58-2f6f2c1d0a11'

export const getRelayHealth = operation({
  route: 'GET /api/streams/relay/health',
  summary: 'Get relay health',
  description: 'Returns the state of the media nodes, and your streams that have a publisher.',
  access: 'user',
  returns: { 200: Envelope(RelayHealthView) },
  example: {},
  handle: async ({ caller, mediaLink }) => ok('Relay health', await mediaLink.relayStatus.health(caller.userId)),
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
  handle: async ({ path, mediaLink }) => ok('Relay status', await mediaLink.relayStatus.of(path.id)),
})

export * from './whip-operations.ts'
