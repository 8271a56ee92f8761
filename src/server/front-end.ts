import { isDownload } from '../core/operation.ts'
import { DOMAINS } from '../registry/domains.ts'
import { Cors } from '../http/cors.ts'
import { billingPages } from '../pages/billing-pages.ts'
import { documentPages } from '../pages/documents.ts'
import { mailLinkPages } from '../pages/mail-link-pages.ts'
import { JsonParser } from '../http/json-parser.ts'
import { HttpMetrics } from '../http/metrics.ts'
import { HttpServer } from '../http/server.ts'
import { previewPages } from '../pages/preview-pages.ts'
import { socketPages } from '../pages/socket-pages.ts'
import { PipelineCalls } from '../http/socket-calls.ts'
import type { PipelineOptions } from '../http/pipeline.ts'
import { ReceiveBuffers } from '../http/receive-buffers.ts'
import { RequestLog } from '../http/request-log.ts'
import { UploadSlots } from '../http/upload-slots.ts'
import { onCredentials } from '../domains/identity/users/index.ts'
import { WebSocketRequired } from '../realtime/errors.ts'
import { Gateway } from '../realtime/gateway.ts'
import { MemoryRateLimiter, RedisRateLimiter, unlimited } from '../coordination/rate-limiter.ts'
import { RedisCoordination } from '../coordination/redis.ts'
import type { RateLimiter } from '../core/ports.ts'
import { eventTypes } from '../registry/events.ts'
import { CLOSING_CODES, clientMessages, LIMITS_IN_WORDS, REFUSALS, serverMessages } from '../realtime/protocol.ts'
import type { SocketProtocol } from '../core/socket-protocol.ts'
import type { Composition } from './compose.ts'
import type { NodeResources } from './foundation.ts'
import { VERSION } from '../config/version.ts'

/** The front end: serves operations over HTTP and sockets, on one port and through one pipeline. */
export interface FrontEnd {
  readonly server: HttpServer
  readonly calls: PipelineCalls
  /** Shared by requests and sockets, so that they share the counts. */
  readonly limiter: RateLimiter
  /** Shared by requests and sockets, so that both allow the same origins. */
  readonly cors: Cors
}

/** Creates the HTTP front end of a composed service. The caller adds the socket routes, then calls `finishRoutes`. */
export function createHttpServer(resources: NodeResources, composition: Composition): FrontEnd {
  const { config, log, metrics } = resources
  const httpMetrics = new HttpMetrics(metrics)
  const limiter = rateLimiter(resources)
  const cors = corsOf(resources)
  const files = composition.operations.filter(isDownload).map(({ pattern }) => pathMatcher(pattern))
  composition.services.auth.downloads.isFile.provide((path) => files.some((matcher) => matcher.test(path)))
  const pipeline: PipelineOptions = {
    authenticator: composition.authenticator,
    tickets: composition.services.previews,
    downloads: composition.services.auth.downloads,
    workers: composition.services.internal.gate,
    links: composition.links,
    memberships: composition.memberships,
    owners: composition.owners,
    limiter,
    switches: composition.services.switches,
    idempotency: composition.idempotency,
    turns: composition.turns,
    context: composition.context,
    requestLog: new RequestLog(log, httpMetrics),
    thread: composition.thread,
    buffers: new ReceiveBuffers(resources.scratch),
    uploads: new UploadSlots(),
    json: new JsonParser(),
    publicUrl: config.PUBLIC_URL,
    checkReplies: config.CHECK_REPLIES,
  }
  const server = new HttpServer({
    operations: composition.operations,
    pipeline,
    pages: [
      ...documentPages(composition.operations, {
        version: VERSION,
        domains: DOMAINS,
        events: [...eventTypes.values()],
      }),
      ...mailLinkPages(),
      ...previewPages(),
      ...billingPages(() => scriptsOf(composition)),
      ...socketPages(socketProtocol(composition)),
    ],
    metrics: httpMetrics,
    log,
    trustedProxies: config.TRUST_PROXY,
    mostInFlight: config.MOST_REQUESTS,
    cors,
    clock: resources.clock,
    limiter: config.RATE_LIMITS ? new MemoryRateLimiter(resources.clock) : unlimited,
  })
  return { server, calls: new PipelineCalls(composition.operations, pipeline), limiter, cors }
}

/** Adds the sockets to the same port. Call it before `finishRoutes`. */
export function createGateway(resources: NodeResources, composition: Composition, front: FrontEnd): Gateway {
  const { clock, config, coordination, database, log, metrics } = resources
  const { team, workspaces } = composition.services
  const { memberships, service } = workspaces
  if (!config.SOCKET_POLLING) front.server.refuseHttp('/socket.io/', WebSocketRequired)
  const gateway = new Gateway({
    app: front.server.app,
    onRequest: (response) => front.server.requestedElsewhere(response),
    calls: front.calls,
    memberships: composition.memberships,
    owners: composition.owners,
    sql: database,
    viewing: composition.services.notifications.screens,
    trustedProxies: config.TRUST_PROXY,
    polling: config.SOCKET_POLLING,
    allowsOrigin: (origin, hosts) => front.cors.allows(origin, hosts),
    authenticator: composition.authenticator,
    limiter: front.limiter,
    access: {
      membershipsOf: async (userId) => {
        const own = await service.ofUser(userId)
        const members = await Promise.all(own.map(async ({ id }) => memberships.find(id, userId)))
        return members.filter((member) => member !== undefined)
      },
      workspacesOf: (userIds) => service.ofUsers(userIds),
      membersAmong: (workspaceId, userIds) => memberships.among(workspaceId, userIds),
      channels: composition.channels,
    },
    onMembers: (listener) => memberships.onChange(listener),
    onCredentials: (listener) => onCredentials(coordination, listener),
    switches: composition.services.switches,
    eventTypes,
    coordination,
    clock,
    log: log.child({ part: 'sockets' }),
    metrics,
  })
  team.members.attachPresence(gateway.presence)
  return gateway
}

/** The socket protocol of these operations. */
export function socketProtocol({ operations }: Pick<Composition, 'operations'>): SocketProtocol {
  return {
    version: VERSION,
    events: [...eventTypes.values()],
    clientMessages,
    serverMessages,
    operations,
    closingCodes: CLOSING_CODES,
    refusals: REFUSALS,
    limits: LIMITS_IN_WORDS,
  }
}

/** The scripts of gateways. They are known when all services have started. */
function scriptsOf({ services }: Composition): string[] {
  const urls = services.payments.gateways.all().map(({ config }) => config.scriptUrl)
  return [...new Set(urls.filter((url) => url !== null))].toSorted()
}

function corsOf({ config, log }: NodeResources): Cors {
  return new Cors([...config.CORS_ORIGINS, new URL(config.PUBLIC_URL).origin], config.TRUST_PROXY, log)
}

/** Nodes with a shared Redis share their limits. A single node counts in memory, which is exact. */
function rateLimiter({ config, coordination, clock, log }: NodeResources): RateLimiter {
  if (!config.RATE_LIMITS) return unlimited
  if (config.REDIS_URL !== undefined && coordination instanceof RedisCoordination) {
    return new RedisRateLimiter(coordination.commands, clock, log)
  }
  return new MemoryRateLimiter(clock)
}

/** Matches the paths of an operation. */
function pathMatcher(pattern: string): RegExp {
  const parts = pattern.split(/\{\w+\}/).map((part) => part.replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`))
  return new RegExp(`^${parts.join('[^/]+')}$`)
}
