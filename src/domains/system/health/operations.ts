import type { Caller } from '../../../core/caller.ts'
import { operation } from '../../../core/operation.ts'
import { ok, reply } from '../../../core/reply.ts'
import { Envelope, Type } from '../../../core/schema.ts'
import { Liveness, ReadinessReport } from './schemas.ts'
import { withoutDetails } from './service.ts'

export const getHealth = operation({
  route: 'GET /api/health',
  summary: 'Get liveness',
  description: 'Returns 200 as long as the process runs. Dependencies are not checked.',
  access: 'public',
  limit: 'none',
  alwaysAnswered: true,
  returns: { 200: Envelope(Liveness) },
  example: {},
  handle: async ({ health }) => ok('Alive', { version: health.version, uptimeSeconds: health.uptimeSeconds() }),
})

export const getReadiness = operation({
  route: 'GET /api/ready',
  summary: 'Get readiness',
  description:
    'Checks the database, Redis, storage and the media node. Returns 503 if one of them fails, and during shutdown. Administrators also get latencies, errors and details, which `/ready` on the admin port always includes.',
  access: 'public',
  limit: 'none',
  alwaysAnswered: true,
  returns: {
    200: Envelope(ReadinessReport),
    503: Type.Object({ status: Type.Literal(false), message: Type.String(), data: ReadinessReport }),
  },
  example: {},
  handle: async ({ caller, health }) => {
    const full = await health.readiness()
    const report = (caller as Caller | undefined)?.isAdmin ? full : withoutDetails(full)
    if (report.ready) return ok('Ready', report)
    return reply(503, { status: false as const, message: 'Not ready', data: report }, { 'Retry-After': '2' })
  },
})
