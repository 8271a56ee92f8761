import { createServer, type AddressInfo } from 'node:net'
import { WebSocketServer } from 'ws'
import {
  ClusterActors,
  jsonCodec,
  LocalActors,
  RedisLeaseStore,
  tcpTransport,
  type ActorHost,
} from '../../actors/index.ts'

/** A host whose transactions cost nothing, so that only the runtime is measured. */
export function idleHost(): ActorHost {
  let epoch = 0
  return {
    remembersOutcomes: true,
    activate: async () => (epoch += 1),
    execute: async (_actor, _epoch, commands) => commands.map(({ payload }) => ({ ok: true, value: payload })),
  }
}

export function startActors(redisUrl: string): Promise<ClusterActors> {
  return ClusterActors.start({
    host: idleHost(),
    codec: jsonCodec,
    store: new RedisLeaseStore({ url: redisUrl }),
    transport: tcpTransport({ host: '127.0.0.1', port: 0 }),
    secret: 'the cluster secret of this benchmark',
    limits: { perCaller: 4_096, perActor: 4_096 },
  })
}

export function localActors(): LocalActors {
  return new LocalActors({
    host: idleHost(),
    monotonic: () => performance.now(),
    limits: { perCaller: 4_096, perActor: 4_096 },
  })
}

/** The other process: an owner of actors, a bare TCP echo and a bare WebSocket echo. */
if (process.send) {
  const echo = createServer((socket) => {
    socket.setNoDelay(true)
    socket.on('data', (chunk) => socket.write(chunk))
    socket.on('error', () => undefined)
  })
  await new Promise<void>((resolve) => void echo.listen(0, '127.0.0.1', resolve))
  const webSockets = new WebSocketServer({ port: 0, host: '127.0.0.1', perMessageDeflate: false })
  webSockets.on('connection', (socket) => socket.on('message', (data) => socket.send(data, { binary: true })))
  const actors = await startActors(process.env['REDIS_URL'] ?? '')
  process.on('disconnect', () => process.exit())
  process.on('message', () => process.send?.(process.cpuUsage()))
  process.send({
    echo: (echo.address() as AddressInfo).port,
    webSocket: (webSockets.address() as AddressInfo).port,
    inc: actors.stats().cluster?.inc,
  })
}
