import { createDecipheriv, createECDH, createHmac, randomBytes, type ECDH } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'
import { createLocalJWKSet, jwtVerify } from 'jose'

interface Subscribed {
  readonly ecdh: ECDH
  readonly auth: Buffer
  /** The status of the reply. */
  status: number
}

export interface PushReceived {
  readonly name: string
  readonly headers: IncomingHttpHeaders
  /** The message, decrypted as the browser would. */
  readonly message: { readonly [field: string]: unknown }
}

/**
 * A push service with the browsers behind it. It checks the server's key (RFC 8292), and decrypts messages as RFC 8291
 * and RFC 8188 say. It shares no code with the sender.
 */
export class PushService {
  readonly received: PushReceived[] = []
  /** Messages that got no reply, while `holds` was set. */
  readonly held: PushReceived[] = []
  holds = false
  /** Why requests were refused. */
  readonly refused: string[] = []
  /** The key that browsers have subscribed with. */
  applicationServerKey = ''
  readonly #subscribed = new Map<string, Subscribed>()
  readonly #server: Server

  constructor() {
    this.#server = createServer((request, response) => {
      void buffer(request)
        .then((body) => this.#accept(request.url ?? '', request.headers, body))
        .then(
          (status) => status !== undefined && response.writeHead(status).end(),
          (error: unknown) => {
            this.refused.push(String(error))
            response.writeHead(400).end()
          },
        )
    })
  }

  async start(): Promise<this> {
    this.#server.listen(0, '127.0.0.1')
    await once(this.#server, 'listening')
    return this
  }

  close(): void {
    this.#server.close()
    this.#server.closeAllConnections()
  }

  /** A browser subscribes. @returns what `pushManager.subscribe` returns */
  subscribe(name: string) {
    const ecdh = createECDH('prime256v1')
    ecdh.generateKeys()
    const auth = randomBytes(16)
    this.#subscribed.set(`/${name}`, { ecdh, auth, status: 201 })
    const keys = { p256dh: ecdh.getPublicKey('base64url'), auth: auth.toString('base64url') }
    return { endpoint: `${this.#origin}/${name}`, expirationTime: null, keys }
  }

  /** The status with which messages to a subscription are answered. */
  answer(name: string, status: number): void {
    const subscribed = this.#subscribed.get(`/${name}`)
    if (subscribed) subscribed.status = status
  }

  to(name: string): PushReceived[] {
    return this.received.filter((one) => one.name === name)
  }

  get #origin(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`
  }

  async #accept(path: string, headers: IncomingHttpHeaders, body: Buffer): Promise<number | undefined> {
    const subscribed = this.#subscribed.get(path)
    if (subscribed === undefined) return 404
    await this.#verify(headers.authorization ?? '')
    if (headers['content-encoding'] !== 'aes128gcm') throw new Error('not aes128gcm')
    if (!/^\d+$/.test(String(headers.ttl ?? ''))) throw new Error('no TTL')
    if (subscribed.status >= 300) return subscribed.status
    const message = JSON.parse(decrypt(body, subscribed).toString()) as PushReceived['message']
    const got = { name: path.slice(1), headers, message }
    if (this.holds) {
      this.held.push(got)
      return undefined
    }
    this.received.push(got)
    return subscribed.status
  }

  /** RFC 8292: the token is signed with the key that the browser subscribed with, for this origin. */
  async #verify(authorization: string): Promise<void> {
    const [, token = '', key = ''] = /^vapid t=([^,]+), ?k=(.+)$/.exec(authorization) ?? []
    if (key !== this.applicationServerKey) throw new Error('another key than the subscription has')
    const point = Buffer.from(key, 'base64url')
    const [x, y] = [point.subarray(1, 33), point.subarray(33)].map((part) => part.toString('base64url'))
    const jwks = createLocalJWKSet({ keys: [{ kty: 'EC', crv: 'P-256', x: x!, y: y!, alg: 'ES256' }] })
    await jwtVerify(token, jwks, { audience: this.#origin })
  }
}

/** RFC 8188, section 2, with the keys of RFC 8291, section 3.4. A message is one record. */
function decrypt(body: Buffer, { auth, ecdh }: Subscribed): Buffer {
  const salt = body.subarray(0, 16)
  const length = body.readUInt8(20)
  const sender = body.subarray(21, 21 + length)
  const sealed = body.subarray(21 + length)
  const hmac = (key: Buffer, ...parts: Buffer[]) => createHmac('sha256', key).update(Buffer.concat(parts)).digest()
  const one = Buffer.from([1])
  const shared = hmac(auth, ecdh.computeSecret(sender))
  const input = hmac(shared, Buffer.from('WebPush: info\0'), ecdh.getPublicKey(), sender, one)
  const secret = hmac(salt, input)
  const key = hmac(secret, Buffer.from('Content-Encoding: aes128gcm\0'), one).subarray(0, 16)
  const nonce = hmac(secret, Buffer.from('Content-Encoding: nonce\0'), one).subarray(0, 12)
  const decipher = createDecipheriv('aes-128-gcm', key, nonce)
  decipher.setAuthTag(sealed.subarray(-16))
  const padded = Buffer.concat([decipher.update(sealed.subarray(0, -16)), decipher.final()])
  const end = padded.findLastIndex((byte) => byte !== 0)
  if (padded[end] !== 2) throw new Error('not the last record')
  return padded.subarray(0, end)
}
