import { randomBytes } from 'node:crypto'
import { startRtmpIngest } from '../ingest/rtmp-ingest.ts'
import type { IngestLimits, IngestOptions, Publisher, RtmpIngest } from '../ingest/rtmp-ingest.ts'
import type { MediaLog, MediaMessage, PublishRequest } from '../types.ts'

/** A publisher, the messages that it delivered, and the reason of its end. */
export interface Session {
  readonly publisher: Publisher
  readonly messages: MediaMessage[]
  ended: string | null
}

export interface IngestFixture {
  readonly ingest: RtmpIngest
  readonly port: number
  readonly sessions: Session[]
  readonly requests: PublishRequest[]
  /** All log lines, with their fields. */
  readonly lines: string[]
}

/** Makes a stream key: a path and 128 random bits. */
export function newKey(path = `path${randomBytes(6).toString('hex')}`): string {
  return `${path}-${randomBytes(16).toString('hex')}`
}

/** Starts a real ingest on a free loopback port. It admits every key by default and records sessions, requests and logs. */
export async function startIngest(
  limits: Partial<IngestLimits> = {},
  overrides: Partial<IngestOptions> = {},
): Promise<IngestFixture> {
  const sessions: Session[] = []
  const requests: PublishRequest[] = []
  const lines: string[] = []
  const write =
    (level: string) =>
    (fields: object, message: string): void => {
      lines.push(`${level} ${message} ${JSON.stringify(fields)}`)
    }
  const log: MediaLog = { debug: write('debug'), info: write('info'), warn: write('warn'), error: write('error') }
  const ingest = await startRtmpIngest({
    host: '127.0.0.1',
    port: 0,
    log,
    limits: { maxConnectionRatePerAddress: 100_000, ...limits },
    authorizePublish: async (request) => {
      requests.push(request)
      const { path, keyHash } = request
      return { allowed: true, stream: { streamId: path, path, keyHash, live: true, destinations: [] } }
    },
    onPublisher: (publisher) => {
      const session: Session = { publisher, messages: [], ended: null }
      sessions.push(session)
      publisher.onMessage = (message) => session.messages.push(message)
      publisher.onEnd = (reason) => {
        if (session.ended !== null) throw new Error(`ended twice: ${session.ended}, ${reason}`)
        session.ended = reason
      }
    },
    ...overrides,
  })
  return { ingest, port: ingest.port, sessions, requests, lines }
}
