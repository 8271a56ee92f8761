import { ClusterActors, jsonCodec, RedisLeaseStore, RefusedError, tcpTransport } from '../../actors/index.ts'
import { PostgresHost } from './actors-host.ts'

/** A node for fault tests, in a process of its own. It runs what its parent sends over the IPC channel. */
export interface NodeSettings {
  readonly name: string
  readonly redisUrl: string
  readonly databaseUrl: string
  readonly linkHost: string
  readonly linkPort: number
  readonly advertise: string
  readonly leaseMs: number
}

export type Question =
  | { readonly id: number; readonly ask: 'run'; readonly actor: string; readonly op: string; readonly withinMs: number }
  | { readonly id: number; readonly ask: 'stats' | 'owners' | 'stop' }

/** `ok`, or the reason of a rejection, or the message of another error. */
export interface Answer {
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
  secret: 'the secret of a cluster that only tests know',
  ttlMs: settings.leaseMs,
  beatMs: settings.leaseMs / 5,
})

async function answerTo(question: Question): Promise<unknown> {
  switch (question.ask) {
    case 'run':
      return actors.run({
        actor: question.actor,
        operationId: question.op,
        caller: settings.name,
        deadline: performance.now() + question.withinMs,
        payload: null,
      })
    case 'stats':
      return actors.stats()
    case 'owners':
      return actors.owners()
    case 'stop': {
      const began = performance.now()
      await actors.close(1_000)
      const took = performance.now() - began
      await host.close()
      return took
    }
    default:
      throw new Error('no such question')
  }
}

process.on('message', (question: Question) => {
  const { id } = question
  answerTo(question).then(
    (value) => process.send?.({ id, ok: true, value } satisfies Answer),
    (error: unknown) => {
      const reason = error instanceof RefusedError ? error.reason : `error: ${(error as Error).message}`
      process.send?.({ id, ok: false, reason } satisfies Answer)
    },
  )
})
process.on('disconnect', () => process.exit())
process.send?.({ id: 0, ok: true } satisfies Answer)
