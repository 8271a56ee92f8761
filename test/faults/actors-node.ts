import { ClusterActors, jsonCodec, RedisLeaseStore, RefusedError, tcpTransport } from '../../actors/index.ts'
import { PostgresHost } from './actors-host.ts'

/** Settings of a node for fault tests. It runs in a child process and executes requests that its parent sends over IPC. */
export interface NodeSettings {
  readonly name: string
  readonly redisUrl: string
  readonly databaseUrl: string
  readonly linkHost: string
  readonly linkPort: number
  readonly advertise: string
  readonly leaseMs: number
}

export type NodeRequest =
  | {
      readonly id: number
      readonly type: 'run'
      readonly actor: string
      readonly op: string
      readonly timeoutMs: number
    }
  | { readonly id: number; readonly type: 'stats' | 'owners' | 'stop' }

/** `reason` is the reason of a rejection, or the message of another error. */
export interface NodeReply {
  readonly id: number
  readonly ok: boolean
  readonly value?: unknown
  readonly reason?: string
}

const settings = JSON.parse(process.env['NODE_SETTINGS'] ?? '{}') as NodeSettings
const host = new PostgresHost(settings.databaseUrl, settings.name, settings.leaseMs)
const actors = await ClusterActors.start({
  host,
  codec: jsonCodec,
  store: new RedisLeaseStore({ url: settings.redisUrl }),
  transport: tcpTransport({ host: settings.linkHost, port: settings.linkPort, advertise: settings.advertise }),
  secret: 'the secret that all test nodes share',
  ttlMs: settings.leaseMs,
  beatMs: Math.min(1_000, settings.leaseMs / 5),
})

async function handle(request: NodeRequest): Promise<unknown> {
  switch (request.type) {
    case 'run':
      return actors.run({
        actor: request.actor,
        operationId: request.op,
        caller: settings.name,
        deadline: performance.now() + request.timeoutMs,
        payload: null,
      })
    case 'stats':
      return actors.stats()
    case 'owners':
      return actors.owners()
    case 'stop': {
      const startedAt = performance.now()
      await actors.close(Math.max(1_000, settings.leaseMs * 0.3))
      const took = performance.now() - startedAt
      await host.close()
      return took
    }
    default:
      throw new Error('unknown request')
  }
}

process.on('message', (request: NodeRequest) => {
  const { id } = request
  handle(request).then(
    (value) => process.send?.({ id, ok: true, value } satisfies NodeReply),
    (error: unknown) => {
      const reason = error instanceof RefusedError ? error.reason : `error: ${(error as Error).message}`
      process.send?.({ id, ok: false, reason } satisfies NodeReply)
    },
  )
})
process.on('disconnect', () => process.exit())
process.send?.({ id: 0, ok: true } satisfies NodeReply)
