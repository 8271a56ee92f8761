import { generateKeyPairSync, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type Http2Server, type IncomingHttpHeaders, type ServerHttp2Stream } from 'node:http2'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { jwtVerify } from 'jose'

export interface ApnsReceived {
  readonly token: string
  readonly headers: IncomingHttpHeaders
  readonly payload: {
    readonly aps: { readonly alert: { readonly title: string; readonly body: string }; readonly badge?: number }
    readonly [field: string]: unknown
  }
}

/** A failure that the next message to a device gets. */
export interface ApnsFailure {
  readonly status: number
  readonly reason: string
  readonly headers?: Readonly<Record<string, string>>
}

const KEY_ID = 'KEY1234567'
const TEAM_ID = 'TEAM123456'
const TOPIC = 'com.example.crier'
const MAX_BYTES = 4_096
const HOUR = 3_600

/**
 * APNs with its documented rules: https://developer.apple.com/documentation/usernotifications, “Sending notification
 * requests to APNs”. It speaks HTTP/2 without TLS, and shares no code with the sender.
 */
export class ApnsService {
  readonly received: ApnsReceived[] = []
  /** The connections so far, and the tokens of the provider that were used. */
  connections = 0
  readonly providerTokens = new Set<string>()
  readonly #keys = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  readonly #devices = new Set<string>()
  readonly #gone = new Set<string>()
  readonly #failures = new Map<string, ApnsFailure>()
  readonly #server: Http2Server = createServer()
  readonly #close: (() => void)[] = []

  async start(): Promise<this> {
    this.#server.on('session', (session) => {
      this.connections += 1
      this.#close.push(() => session.destroy())
    })
    this.#server.on('stream', (stream, headers) => void this.#answer(stream, headers).catch(() => stream.destroy()))
    this.#server.listen(0, '127.0.0.1')
    await once(this.#server, 'listening')
    return this
  }

  /** Closes all connections, as APNs does from time to time. */
  disconnect(): void {
    for (const close of this.#close.splice(0)) close()
  }

  close(): void {
    this.disconnect()
    this.#server.close()
  }

  get settings(): Record<string, string> {
    return {
      APNS_KEY: String(this.#keys.privateKey.export({ type: 'pkcs8', format: 'pem' })).replaceAll('\n', '\\n'),
      APNS_KEY_ID: KEY_ID,
      APNS_TEAM_ID: TEAM_ID,
      APNS_TOPIC: TOPIC,
      APNS_URL: `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`,
    }
  }

  /** A device registers. @returns its token */
  install(): string {
    const token = randomBytes(32).toString('hex')
    this.#devices.add(token)
    return token
  }

  uninstall(token: string): void {
    this.#gone.add(token)
  }

  fail(token: string, failure: ApnsFailure): void {
    this.#failures.set(token, failure)
  }

  async #answer(stream: ServerHttp2Stream, headers: IncomingHttpHeaders): Promise<void> {
    const body = await text(stream)
    const failure = await this.#judge(headers, body)
    stream.respond({ ':status': failure?.status ?? 200, 'apns-id': headers['apns-id'], ...failure?.headers })
    stream.end(failure === undefined ? '' : JSON.stringify({ reason: failure.reason }))
  }

  async #judge(headers: IncomingHttpHeaders, body: string): Promise<ApnsFailure | undefined> {
    const [, token = ''] = /^\/3\/device\/([0-9a-f]+)$/.exec(String(headers[':path'])) ?? []
    if (headers[':method'] !== 'POST') return { status: 405, reason: 'MethodNotAllowed' }
    const unauthorized = await this.#unauthorized(headers.authorization ?? '')
    if (unauthorized !== undefined) return { status: 403, reason: unauthorized }
    const bad = badHeader(headers) ?? badPayload(body)
    if (bad !== undefined) return { status: bad === 'PayloadTooLarge' ? 413 : 400, reason: bad }
    const failing = this.#failures.get(token)
    this.#failures.delete(token)
    if (failing) return failing
    if (this.#gone.has(token)) return { status: 410, reason: 'Unregistered' }
    if (!this.#devices.has(token)) return { status: 400, reason: 'BadDeviceToken' }
    this.received.push({ token, headers, payload: JSON.parse(body) as ApnsReceived['payload'] })
    return undefined
  }

  async #unauthorized(authorization: string): Promise<string | undefined> {
    const [, token] = /^bearer (.+)$/.exec(authorization) ?? []
    if (token === undefined) return 'MissingProviderToken'
    try {
      const { payload, protectedHeader } = await jwtVerify(token, this.#keys.publicKey, {
        algorithms: ['ES256'],
        issuer: TEAM_ID,
      })
      if (protectedHeader.kid !== KEY_ID || payload.iat === undefined) return 'InvalidProviderToken'
      const age = Date.now() / 1_000 - payload.iat
      if (age > HOUR || age < -60) return 'ExpiredProviderToken'
    } catch {
      return 'InvalidProviderToken'
    }
    this.providerTokens.add(token)
    return undefined
  }
}

function badHeader(headers: IncomingHttpHeaders): string | undefined {
  const value = (name: string) => String(headers[name] ?? '')
  if (value('apns-topic') !== TOPIC) return 'TopicDisallowed'
  if (value('apns-push-type') !== 'alert') return 'InvalidPushType'
  if (!['1', '5', '10'].includes(value('apns-priority'))) return 'BadPriority'
  if (!/^\d{10}$/.test(value('apns-expiration'))) return 'BadExpirationDate'
  if (Buffer.byteLength(value('apns-collapse-id')) > 64) return 'BadCollapseId'
  return /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(value('apns-id')) ? undefined : 'BadMessageId'
}

function badPayload(body: string): string | undefined {
  if (Buffer.byteLength(body) > MAX_BYTES) return 'PayloadTooLarge'
  const { aps } = JSON.parse(body) as { aps?: { alert?: unknown } }
  return aps?.alert === undefined ? 'PayloadEmpty' : undefined
}
