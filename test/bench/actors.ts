import { deepStrictEqual } from 'node:assert'
import { fork, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { connect } from 'node:net'
import { cpus, tmpdir } from 'node:os'
import { join } from 'node:path'
import { Redis } from 'ioredis'
import { WebSocket } from 'ws'
import type { Actors } from '../../actors/index.ts'
import { freeLoopbackPort } from '../../src/setup/free-port.ts'
import { toolPath } from '../support/tools.ts'
import { localActors, startActors } from './actors-node.ts'

/**
 * Calls per second and round-trip times of the actor runtime, local and forwarded to another process, compared with a
 * bare echo between the same two processes. Without a database. Run: node test/bench/actors.ts
 */
const SECONDS = Number(process.env['SECONDS'] ?? 3)
const PAYLOAD = { text: 'x'.repeat(100) }

interface Numbers {
  readonly perSecond: number
  readonly p50: number
  readonly p99: number
}

/** Keeps `concurrency` calls in progress for some seconds. */
async function measure(concurrency: number, call: () => Promise<unknown>): Promise<Numbers> {
  const times: number[] = []
  const client = async (until: number, keep: boolean) => {
    for (let began = performance.now(); began < until;) {
      await call()
      const now = performance.now()
      if (keep) times.push(now - began)
      began = now
    }
  }
  const run = (seconds: number, keep: boolean) => {
    const until = performance.now() + seconds * 1_000
    return Promise.all(Array.from({ length: concurrency }, () => client(until, keep)))
  }
  await run(0.5, false)
  await run(SECONDS, true)
  times.sort((a, b) => a - b)
  const at = (part: number) => (times[Math.floor(times.length * part)] ?? 0) * 1_000
  return { perSecond: times.length / SECONDS, p50: at(0.5), p99: at(0.99) }
}

async function tcpEcho(port: number): Promise<() => Promise<unknown>> {
  const socket = connect(port, '127.0.0.1')
  await once(socket, 'connect')
  socket.setNoDelay(true)
  const message = Buffer.from(JSON.stringify(PAYLOAD).padEnd(180))
  const waiting: (() => void)[] = []
  let received = 0
  socket.on('data', (chunk: Buffer) => {
    for (received += chunk.length; received >= message.length; received -= message.length) waiting.shift()?.()
  })
  return () =>
    new Promise<void>((resolve) => {
      waiting.push(resolve)
      socket.write(message)
    })
}

async function webSocketEcho(port: number): Promise<() => Promise<unknown>> {
  const socket = new WebSocket(`ws://127.0.0.1:${port}`, { perMessageDeflate: false })
  await once(socket, 'open')
  const message = Buffer.from(JSON.stringify(PAYLOAD).padEnd(180))
  const waiting: (() => void)[] = []
  socket.on('message', () => waiting.shift()?.())
  return () =>
    new Promise<void>((resolve) => {
      waiting.push(resolve)
      socket.send(message)
    })
}

let lastCall = 0

function caller(actors: Actors, names: readonly string[]): () => Promise<unknown> {
  let count = 0
  return () =>
    actors.run({
      actor: names[(count += 1) % names.length] as string,
      operationId: `0190a5b0-0000-7000-8000-${String((lastCall += 1)).padStart(12, '0')}`,
      caller: 'bench',
      deadline: performance.now() + 10_000,
      payload: PAYLOAD,
    })
}

const folder = mkdtempSync(join(tmpdir(), 'crier-bench-'))
const port = await freeLoopbackPort()
const tool = toolPath('redis-server')
const redisServer = spawn(tool.command, ['--port', String(port), '--bind', '127.0.0.1', '--save', ''], {
  cwd: folder,
  env: { ...process.env, ...tool.env },
  stdio: 'ignore',
})
const redisUrl = `redis://127.0.0.1:${port}`
const redis = new Redis(redisUrl, { maxRetriesPerRequest: null })
redis.on('error', () => undefined)
await redis.ping()
redis.disconnect()

const child = fork(new URL('./actors-node.ts', import.meta.url), { env: { ...process.env, REDIS_URL: redisUrl } })
const [there] = (await once(child, 'message')) as [{ echo: number; webSocket: number; inc: string }]
const cluster = await startActors(redisUrl)
const local = localActors()

// Actors that live in the other process, and in this one.
const probe = Array.from({ length: 64 }, (_, index) => `ws:${index}`)
await Promise.all(probe.map((actor) => caller(cluster, [actor])()))
const owners = await cluster.owners()
const far = owners.find((node) => node.inc === there.inc)?.actors.map(({ actor }) => actor) ?? []
const near = owners.find((node) => node.inc !== there.inc)?.actors.map(({ actor }) => actor) ?? []

const subjects: [string, () => Promise<unknown>][] = [
  ['bare TCP echo', await tcpEcho(there.echo)],
  ['bare WebSocket echo (ws)', await webSocketEcho(there.webSocket)],
  ['actor call, LocalActors', caller(local, near)],
  ['actor call, own actor of a cluster', caller(cluster, near)],
  ['actor call, forwarded', caller(cluster, far)],
]
console.log(`${cpus().length} × ${cpus()[0]?.model ?? '?'}, Node ${process.version}, ${SECONDS} s each\n`)
console.log(
  '| | 1 in progress: p50 µs | p99 µs | calls/s | 64 in progress: calls/s | ratio to TCP echo | CPU µs per call, both processes |\n|---|---|---|---|---|---|---|',
)

/** Checks that the reply equals the request. For the bare echoes only the number of bytes is checked. */
async function requireEcho(name: string, call: () => Promise<unknown>): Promise<void> {
  const reply = await call()
  if (reply !== undefined) deepStrictEqual(reply, PAYLOAD, `the reply of ${name} differs from the request`)
}

/** The CPU time of both processes, in microseconds. */
async function processorTime(): Promise<number> {
  child.send('cpu')
  const [far] = (await once(child, 'message')) as [NodeJS.CpuUsage]
  const near = process.cpuUsage()
  return near.user + near.system + far.user + far.system
}

let bare = 0
for (const [name, call] of subjects) {
  await requireEcho(name, call)
  const one = await measure(1, call)
  const before = await processorTime()
  let calls = 0
  const many = await measure(64, () => {
    calls += 1
    return call()
  })
  const busy = (await processorTime()) - before
  bare ||= many.perSecond
  const cells = [one.p50, one.p99, one.perSecond, many.perSecond].map((value) => value.toFixed(0))
  const cost = (busy / calls).toFixed(1)
  console.log(`| ${name} | ${cells.join(' | ')} | ${(many.perSecond / bare).toFixed(2)} | ${cost} |`)
}
child.disconnect()
await cluster.close(1_000)
await local.close(1_000)
redisServer.kill()
await once(redisServer, 'exit')
rmSync(folder, { recursive: true, force: true })
process.exit()
