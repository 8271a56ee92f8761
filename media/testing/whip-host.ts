import { startMediaProcess, type MediaHost } from '../process/host.ts'
import type { DesiredStream, WhipReply } from '../types.ts'
import { useFfmpeg } from './ffmpeg.ts'
import { newKey } from './ingest-fixture.ts'
import { destinationTo, hashOf } from './node-fixture.ts'
import type { Sink } from './sink.ts'
import type { WhipClient } from './whip-client.ts'

export interface WhipHost {
  readonly host: MediaHost
  readonly rtmpPort: number
  readonly whipPort: number
  /** Stream key for RTMP. */
  readonly key: string
  /** Sends an offer. @returns the answer and its session */
  take(sdp: string): Promise<{ readonly session: string; readonly sdp: string }>
  /** Connects a client. @returns its session */
  open(client: WhipClient): Promise<string>
  end(session: string): Promise<WhipReply>
}

export interface LogLine {
  readonly message: string
  readonly [field: string]: unknown
}

/** Starts a media process with one stream and one destination, for benchmarks and soak tests. */
export async function startWhipHost(sink: Sink, onLine: (line: LogLine) => void = () => {}): Promise<WhipHost> {
  const key = newKey()
  const path = key.split('-')[0]!
  const keyHash = hashOf('the token')
  const stream: DesiredStream = {
    streamId: 'stream',
    path,
    keyHash: hashOf(key),
    whipHash: keyHash,
    live: true,
    destinations: [destinationTo(sink)],
  }
  const nothing = (): void => {}
  const note = (fields: object, message: string): void => onLine({ ...fields, message })
  const host = startMediaProcess({
    host: '127.0.0.1',
    port: 0,
    allowPrivateAddresses: true,
    whip: { host: '127.0.0.1', port: 0, ffmpeg: await useFfmpeg() },
    log: { debug: note, info: note, warn: note, error: note },
    onEvent: nothing,
    authorizePublish: async (request) =>
      [stream.keyHash, keyHash].includes(request.keyHash)
        ? { allowed: true, stream }
        : { allowed: false, reason: 'unknown key' },
    env: { PATH: process.env['PATH'] ?? '' },
  })
  const { port, whipPort } = await host.ready
  host.apply(stream)
  const take = async (sdp: string) => {
    const offer = { type: 'offer' as const, path, keyHash, remoteAddress: '127.0.0.1', normalise: false, sdp }
    const reply = await host.whip(offer)
    if (!reply.ok || reply.session === undefined) throw new Error(`the offer was refused: ${JSON.stringify(reply)}`)
    return reply
  }
  return {
    host,
    rtmpPort: port,
    whipPort: whipPort ?? 0,
    key,
    take,
    async open(client) {
      const { sdp, session } = await take(await client.offer())
      client.accept(sdp)
      client.start()
      return session
    },
    end: (session) => host.whip({ type: 'delete', path, keyHash, session }),
  }
}
