/**
 * An ingest in a process of its own, so that its memory can be measured and its heap searched. Speaks IPC: sends
 * `{ port }` once it listens; answers `measure`, `digests`, `context` and `heap` requests.
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

/** Messages are digested as they come: keeping them would be the growth that the tests look for. */
const digests = new Map<string, { packets: PacketDigest[]; ended: string | null; longestWorkMs: number }>()
let published = 0

/** Milliseconds of CPU time of this process: what it has worked, without what a busy machine made it wait. */
function workedMs(): number {
  const { system, user } = process.cpuUsage()
  return (system + user) / 1_000
}

/** The first lines logged; a fuzzing run writes more than is worth keeping. */
const lines: string[] = []
const MOST_LINES = 1_000
const write = (fields: object, message: string): void => {
  if (lines.length < MOST_LINES) lines.push(`${message} ${JSON.stringify(fields)}`)
}

const fixture = await startIngest(
  { maxUnadmittedPerAddress: 10_000, maxUnadmitted: 10_000 },
  {
    log: { debug: write, info: write, warn: write, error: write },
    authorizePublish: async ({ path, keyHash }) =>
      path.startsWith('refused')
        ? { allowed: false, reason: 'Not this one.' }
        : { allowed: true, stream: { streamId: path, path, keyHash, live: true, destinations: [] } },
    onPublisher: (publisher) => {
      published += 1
      if (!publisher.path.startsWith('watched')) return
      const record = { packets: [] as PacketDigest[], ended: null as string | null, longestWorkMs: 0 }
      digests.set(publisher.path, record)
      let last = workedMs()
      publisher.onMessage = (message: MediaMessage) => {
        const now = workedMs()
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

/** Which texts occur in a snapshot of the heap. They come as reversed bytes, so that asking does not plant them. */
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
