/**
 * Sends a million damaged RTMP sessions to one ingest: `npm run soak:rtmp`.
 *
 * The process must not exit, print anything or grow, and must read at most 64 kB from a peer before admitting it.
 * Otherwise exits with 1. SESSIONS, MINUTES (whichever comes first), AT_ONCE and SEED are settings.
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fuzz } from '../../media/testing/fuzz.ts'
import type { Measurement } from '../../media/testing/ingest-child.ts'
import { startIngestProcess } from '../../media/testing/ingest-process.ts'
import { memoryPerUnadmittedPeer } from '../../media/testing/unadmitted-memory.ts'

const SESSIONS = Number(process.env['SESSIONS'] ?? 1_000_000)
const MINUTES = Number(process.env['MINUTES'] ?? 600)
const SEED = Number(process.env['SEED'] ?? 1)
const ROUND = 10_000
/** Concurrent sessions. */
const AT_ONCE = Number(process.env['AT_ONCE'] ?? 400)
/** Fewer than the limit per address. */
const STRANGERS = 200
const MAX_HELD = 65_536
const MAX_GROWN = 64 * 1024 * 1024

const folder = await mkdtemp(join(tmpdir(), 'crier-soak-rtmp-'))
const server = await startIngestProcess(folder)
const measure = () => server.ask<Measurement>({ ask: 'measure' })
const faults: string[] = []

const startedAt = performance.now()
await fuzz(server.port, ROUND, SEED, AT_ONCE)
const first = await measure()
let done = ROUND
while (done < SESSIONS && performance.now() - startedAt < MINUTES * 60_000 && server.child.exitCode === null) {
  await fuzz(server.port, ROUND, SEED + done, AT_ONCE)
  done += ROUND
  const { connections, published, rss } = await measure()
  const seconds = Math.round((performance.now() - startedAt) / 1_000)
  console.log(
    `${done} sessions in ${seconds} s: ${published} published, rss ${Math.round(rss / 1e6)} MB, ${connections} open`,
  )
}
const last = await measure()
const held = await memoryPerUnadmittedPeer(server, STRANGERS)
if (server.child.exitCode !== null) faults.push(`the process ended with ${server.child.exitCode}`)
if (server.output() !== '') faults.push(`the process printed: ${server.output()}`)
const grown = last.heapUsed + last.arrayBuffers - first.heapUsed - first.arrayBuffers
if (grown > MAX_GROWN) faults.push(`the process grew by ${grown} bytes`)
if (held > MAX_HELD) faults.push(`the process held ${Math.round(held)} bytes for an unauthenticated peer`)
console.log({ sessions: done, published: last.published, grown, memoryPerUnadmittedPeer: Math.round(held), faults })
server.stop()
await rm(folder, { recursive: true, force: true })
process.exit(faults.length === 0 ? 0 : 1)
