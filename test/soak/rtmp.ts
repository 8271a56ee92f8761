/**
 * A million damaged RTMP sessions against one ingest: `npm run soak:rtmp`.
 *
 * The process must not end, say anything, or grow; and of what a peer sends before it is admitted 64 kB at most. Ends
 * with 1 when that does not hold. SESSIONS, MINUTES (whichever comes first) and SEED change the size.
 */
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { connect, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { attackMany } from '../../media/testing/attack.ts'
import type { Measurement } from '../../media/testing/ingest-child.ts'
import { startIngestProcess } from '../../media/testing/ingest-process.ts'

const SESSIONS = Number(process.env['SESSIONS'] ?? 1_000_000)
const MINUTES = Number(process.env['MINUTES'] ?? 600)
const SEED = Number(process.env['SEED'] ?? 1)
const ROUND = 10_000
/** Fewer than an address may have at once. */
const STRANGERS = 200
/** One read of the socket, which is what it may send, and what answering its handshake takes. */
const MOST_HELD = 65_536 + 8_192
const MOST_GROWN = 64 * 1024 * 1024

const folder = await mkdtemp(join(tmpdir(), 'crier-soak-rtmp-'))
const server = await startIngestProcess(folder)
const measure = () => server.ask<Measurement>({ ask: 'measure' })
const faults: string[] = []

/** Bytes that the server holds for a peer that says hello and then all but finishes a message, and never publishes. */
async function heldForStranger(): Promise<number> {
  const before = await measure()
  const peers: Socket[] = []
  for (let count = 0; count < STRANGERS; count += 1) {
    const peer = connect({ port: server.port, host: '127.0.0.1' })
    peer.on('error', () => {})
    await once(peer, 'connect')
    const handshake = Buffer.concat([Buffer.of(3), Buffer.alloc(3_072)])
    // The longest message that it lets a stranger begin, on chunk stream 3: its end never comes.
    const header = Buffer.from('0300000000ea601400000000', 'hex')
    peer.write(Buffer.concat([handshake, header, Buffer.alloc(59_000)]))
    peers.push(peer)
  }
  await delay(1_000)
  const after = await measure()
  for (const peer of peers) peer.destroy()
  return (after.arrayBuffers - before.arrayBuffers) / STRANGERS
}

const startedAt = performance.now()
await attackMany(server.port, ROUND, SEED)
const first = await measure()
let done = ROUND
while (done < SESSIONS && performance.now() - startedAt < MINUTES * 60_000 && server.child.exitCode === null) {
  await attackMany(server.port, ROUND, SEED + done)
  done += ROUND
  const { connections, published, rss } = await measure()
  const seconds = Math.round((performance.now() - startedAt) / 1_000)
  console.log(
    `${done} sessions in ${seconds} s: ${published} published, rss ${Math.round(rss / 1e6)} MB, ${connections} open`,
  )
}
const last = await measure()
const held = await heldForStranger()
if (server.child.exitCode !== null) faults.push(`the process ended with ${server.child.exitCode}`)
if (server.output() !== '') faults.push(`it said: ${server.output()}`)
const grown = last.heapUsed + last.arrayBuffers - first.heapUsed - first.arrayBuffers
if (grown > MOST_GROWN) faults.push(`it grew by ${grown} bytes`)
if (held > MOST_HELD) faults.push(`it held ${Math.round(held)} bytes for a stranger`)
console.log({ sessions: done, published: last.published, grown, heldForStranger: Math.round(held), faults })
server.stop()
await rm(folder, { recursive: true, force: true })
process.exit(faults.length === 0 ? 0 : 1)
