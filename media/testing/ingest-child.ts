/**
 * An ingest in its own process, to measure its memory and search its heap. By IPC it sends `{ port }` when it listens and
 * answers `measure`, `digests`, `context` and `heap` requests.
 */
import { createRequire } from 'node:module'
import { inspect } from 'node:util'
import { getHeapSnapshot } from 'node:v8'
import type { MediaMessage } from '../types.ts'
import { digest } from './flv-file.ts'
import type { PacketDigest } from './flv-file.ts'
import { startIngest } from './ingest-fixture.ts'

export type ChildRequest =
  | { readonly ask: 'measure' | 'context' }
  | { readonly ask: 'digests'; readonly path: string }
  | { readonly ask: 'heap'; readonly reversed: number[][] }

export interface Measurement {
  readonly rss: number
  readonly heapUsed: number
  readonly arrayBuffers: number
  readonly connections: number
  readonly published: number
}

/** Only digests of messages are kept, because the tests check that memory does not grow. */
const digests = new Map<string, { packets: PacketDigest[]; ended: string | null; longestWorkMs: number }>()
let published = 0

/** CPU time of this process in milliseconds. Unlike wall time, it does not depend on the load of the machine. */
function cpuMs(): number {
  const { system, user } = process.cpuUsage()
  return (system + user) / 1_000
}

/** The first log lines. A fuzzing run writes many more. */
const lines: string[] = []
const MAX_LINES = 1_000
const write = (fields: object, message: string): void => {
  if (lines.length < MAX_LINES) lines.push(`${message} ${JSON.stringify(fields)}`)
}

const fixture = await startIngest(
  { maxUnadmittedPerAddress: 10_000, maxUnadmitted: 10_000 },
  {
    log: { debug: write, info: write, warn: write, error: write },
    authorizePublish: async ({ path, keyHash }) =>
      path.startsWith('refused')
        ? { allowed: false, reason: 'Refused by the test.' }
        : { allowed: true, stream: { streamId: path, path, keyHash, live: true, destinations: [] } },
    onPublisher: (publisher) => {
      published += 1
      if (!publisher.path.startsWith('watched')) return
      const record = { packets: [] as PacketDigest[], ended: null as string | null, longestWorkMs: 0 }
      digests.set(publisher.path, record)
      let last = cpuMs()
      publisher.onMessage = (message: MediaMessage) => {
        const now = cpuMs()
        record.longestWorkMs = Math.max(record.longestWorkMs, now - last)
        last = now
        if (message.kind !== 'data') record.packets.push(digest(message.kind, message.timestamp, message.payload))
      }
      publisher.onEnd = (reason) => (record.ended = reason)
    },
  },
)

async function answer(request: ChildRequest): Promise<unknown> {
  if (request.ask === 'digests') return digests.get(request.path) ?? null
  if (request.ask === 'heap') return searchHeap(request.reversed)
  if (request.ask === 'context') {
    const context: unknown = createRequire(import.meta.url)('node-media-server/src/core/context.js')
    return { context: inspect(context, { depth: 20, showHidden: true, maxStringLength: null }), lines }
  }
  for (let round = 0; round < 3; round++) {
    globalThis.gc?.()
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
  return measure()
}

function measure(): Measurement {
  const { rss, heapUsed, arrayBuffers } = process.memoryUsage()
  return { rss, heapUsed, arrayBuffers, connections: fixture.ingest.connections(), published }
}

/** Searches a heap snapshot for texts. They are passed as reversed bytes, so that the request itself is not found. */
async function searchHeap(reversed: readonly number[][]): Promise<boolean[]> {
  const parts: Buffer[] = []
  for await (const part of getHeapSnapshot()) parts.push(Buffer.from(part as Buffer))
  const snapshot = Buffer.concat(parts)
  return reversed.map((bytes) => snapshot.includes(Buffer.from(bytes.toReversed())))
}

process.on('message', (request: ChildRequest) => {
  void answer(request).then((reply) => process.send?.({ reply }))
})
process.on('disconnect', () => process.exit())
process.send?.({ port: fixture.port })
