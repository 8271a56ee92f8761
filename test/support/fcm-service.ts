import { generateKeyPairSync } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { jwtVerify } from 'jose'

/** A message as an app gets it. */
export interface FcmReceived {
  readonly token: string
  readonly notification: { readonly title: string; readonly body: string }
  readonly data: Readonly<Record<string, string>>
  readonly android: Readonly<Record<string, unknown>>
}

/** A failure that the next message to a token gets. */
export interface FcmFailure {
  readonly status: number
  readonly errorCode: string
  readonly headers?: Readonly<Record<string, string>>
}

const PROJECT = 'crier-test'
const MAX_BYTES = 4_096
const FOUR_WEEKS = 2_419_200

/**
 * FCM's HTTP v1 API and the token endpoint of Google, with their documented rules. It shares no code with the sender.
 * https://firebase.google.com/docs/reference/fcm/rest/v1/projects.messages
 * https://developers.google.com/identity/protocols/oauth2/service-account
 */
export class FcmService {
  readonly received: FcmReceived[] = []
  /** How many access tokens were issued. */
  issued = 0
  readonly #keys = generateKeyPairSync('rsa', { modulusLength: 2_048 })
  readonly #apps = new Set<string>()
  readonly #failures = new Map<string, FcmFailure>()
  readonly #tokens = new Set<string>()
  readonly #server: Server = createServer((request, response) => {
    void text(request)
      .then((body) => this.#answer(request.url ?? '', request.headers, body))
      .catch((error: Error) => failure(400, 'INVALID_ARGUMENT', error.message))
      .then(({ body, headers, status }) => response.writeHead(status, headers).end(JSON.stringify(body)))
  })

  async start(): Promise<this> {
    this.#server.listen(0, '127.0.0.1')
    await once(this.#server, 'listening')
    return this
  }

  close(): void {
    this.#server.close()
    this.#server.closeAllConnections()
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`
  }

  /** The content of the key file of a service account. */
  get serviceAccount(): string {
    return JSON.stringify({
      type: 'service_account',
      project_id: PROJECT,
      client_email: `push@${PROJECT}.iam.gserviceaccount.com`,
      private_key_id: 'key-1',
      private_key: this.#keys.privateKey.export({ type: 'pkcs8', format: 'pem' }),
      token_uri: `${this.url}/token`,
    })
  }

  /** An app is installed, and gets this registration token. */
  install(token: string): string {
    this.#apps.add(token)
    return token
  }

  uninstall(token: string): void {
    this.#apps.delete(token)
  }

  /** The next message to a token fails. */
  fail(token: string, failing: FcmFailure): void {
    this.#failures.set(token, failing)
  }

  /** Access tokens that were issued are no longer valid. */
  revoke(): void {
    this.#tokens.clear()
  }

  async #answer(path: string, headers: IncomingHttpHeaders, body: string) {
    if (path === '/token') return this.#token(headers, body)
    if (path !== `/v1/projects/${PROJECT}/messages:send`) return failure(404, 'NOT_FOUND')
    const [, access = ''] = /^Bearer (.+)$/.exec(headers.authorization ?? '') ?? []
    if (!this.#tokens.has(access)) return failure(401, 'UNAUTHENTICATED')
    return this.#send(body)
  }

  async #token(headers: IncomingHttpHeaders, body: string) {
    const form = new URLSearchParams(body)
    if (headers['content-type'] !== 'application/x-www-form-urlencoded') throw new Error('not a form')
    if (form.get('grant_type') !== 'urn:ietf:params:oauth:grant-type:jwt-bearer') throw new Error('grant_type')
    const account = JSON.parse(this.serviceAccount) as { client_email: string; token_uri: string }
    const { payload, protectedHeader } = await jwtVerify(form.get('assertion') ?? '', this.#keys.publicKey, {
      algorithms: ['RS256'],
      audience: account.token_uri,
      issuer: account.client_email,
      requiredClaims: ['iat', 'exp'],
    })
    if (protectedHeader.kid !== 'key-1') throw new Error('kid')
    if (payload['scope'] !== 'https://www.googleapis.com/auth/firebase.messaging') throw new Error('scope')
    if (Number(payload.exp) - Number(payload.iat) > 3_600) throw new Error('lives longer than an hour')
    this.issued += 1
    const access = `access-${this.issued}`
    this.#tokens.add(access)
    return { status: 200, headers: {}, body: { access_token: access, expires_in: 3_599, token_type: 'Bearer' } }
  }

  #send(body: string) {
    if (Buffer.byteLength(body) > MAX_BYTES) throw new Error('too long')
    const { message } = JSON.parse(body) as { message: FcmReceived }
    check(message)
    const failing = this.#failures.get(message.token)
    this.#failures.delete(message.token)
    if (failing) return failure(failing.status, failing.errorCode, '', failing.headers)
    if (!this.#apps.has(message.token)) return failure(404, 'UNREGISTERED')
    this.received.push(message)
    return { status: 200, headers: {}, body: { name: `projects/${PROJECT}/messages/${this.received.length}` } }
  }
}

/** @throws Error if FCM would refuse it */
function check({ android, data, notification, token }: FcmReceived): void {
  if (typeof token !== 'string' || typeof notification.title !== 'string') throw new Error('token or title')
  for (const [name, value] of Object.entries(data)) {
    if (typeof value !== 'string') throw new Error(`data.${name} is no string`)
    if (/^(from|message_type|gcm|google)/.test(name)) throw new Error(`data.${name} is reserved`)
  }
  if (!['NORMAL', 'HIGH'].includes(String(android['priority']))) throw new Error('android.priority')
  const [, seconds] = /^(\d+)s$/.exec(String(android['ttl'])) ?? []
  if (seconds === undefined || Number(seconds) > FOUR_WEEKS) throw new Error('android.ttl')
}

function failure(code: number, errorCode: string, message = '', headers: Readonly<Record<string, string>> = {}) {
  const details = [{ '@type': 'type.googleapis.com/google.firebase.fcm.v1.FcmError', errorCode }]
  return { status: code, headers, body: { error: { code, message, status: errorCode, details } } }
}
