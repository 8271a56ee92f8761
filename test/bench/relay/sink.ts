import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import type { MediaKind } from '../../../media/types.ts'

/** A connection of a relay to a destination. Times are {@link monotonicMs}. */
export interface Arrivals {
  readonly streamKey: string | null
  /** Bytes read from the socket since it was opened. */
  readonly bytes: number
  /** When Publish.Start was sent; null before that. */
  readonly publishedAt: number | null
  /** Frames of video and audio, if requested, without decoder configurations. */
  readonly frames: readonly { readonly kind: MediaKind; readonly checksum: number; readonly at: number }[]
}

export interface SinkQuestion {
  readonly id: number
  readonly withFrames: boolean
}

export interface SinkAnswer {
  readonly id: number
  readonly connections: readonly Arrivals[]
}

/** The argument that makes the process serve RTMPS, with the tests' certificate. */
export const SECURE = 'secure'

/** An RTMP server in another process that accepts and acknowledges everything published. */
export interface BenchSink {
  readonly port: number
  /** Every connection so far, oldest first. */
  connections(options?: { withFrames: boolean }): Promise<readonly Arrivals[]>
  close(): Promise<void>
}

export async function startBenchSink({ secure = false } = {}): Promise<BenchSink> {
  const program = fileURLToPath(new URL('./sink-process.ts', import.meta.url))
  const child = fork(program, secure ? [SECURE] : [], { serialization: 'advanced' })
  const [{ port }] = (await once(child, 'message')) as [{ port: number }]
  const waiting = new Map<number, (connections: readonly Arrivals[]) => void>()
  let asked = 0
  child.on('message', ({ id, connections }: SinkAnswer) => waiting.get(id)?.(connections))
  return {
    port,
    async connections({ withFrames } = { withFrames: false }) {
      const id = ++asked
      const answer = new Promise<readonly Arrivals[]>((resolve) => waiting.set(id, resolve))
      child.send({ id, withFrames } satisfies SinkQuestion)
      return answer.finally(() => waiting.delete(id))
    },
    async close() {
      const gone = once(child, 'exit')
      child.disconnect()
      await gone
    },
  }
}
