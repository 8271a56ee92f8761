import { createHash, generateKeyPairSync, randomBytes, sign, type KeyObject } from 'node:crypto'
import { isoCBOR } from '@simplewebauthn/server/helpers'
import type { App } from './app.ts'

/** What the authenticator reports (W3C Web Authentication Level 3, section 6.1). */
const FLAGS = { userPresent: 1, userVerified: 4, attested: 64 }

export interface SoftwareOptions {
  /** The origin of the page; that of the server by default. */
  readonly origin?: string
  /** Signs that the user was present, but was not verified. */
  readonly unverified?: boolean
  /** The counter of the signature; one more than before by default. */
  readonly counter?: number
}

/** An authenticator in software with one ES256 key. Chromium's own is in `test/api/passkey-browser.test.ts`. */
export class SoftwareAuthenticator {
  readonly id = randomBytes(16).toString('base64url')
  readonly #privateKey: KeyObject
  readonly #publicKey: KeyObject
  readonly #app: App
  #counter = 0
  #userHandle: string | undefined

  constructor(app: App) {
    const pair = generateKeyPairSync('ec', { namedCurve: 'P-256' })
    this.#privateKey = pair.privateKey
    this.#publicKey = pair.publicKey
    this.#app = app
  }

  /** What the browser returns for `options` of the registration options. */
  create(
    { challenge, rp, user }: { challenge: string; rp: { id: string }; user: { id: string } },
    options: SoftwareOptions = {},
  ): object {
    this.#userHandle = user.id
    const { x = '', y = '' } = this.#publicKey.export({ format: 'jwk' })
    // COSE labels of an EC2 key: kty, alg, crv, x, y (RFC 9053).
    const key = new Map<number, number | Uint8Array>([
      [1, 2],
      [3, -7],
      [-1, 1],
      [-2, new Uint8Array(Buffer.from(x, 'base64url'))],
      [-3, new Uint8Array(Buffer.from(y, 'base64url'))],
    ])
    const id = Buffer.from(this.id, 'base64url')
    const length = Buffer.alloc(2)
    length.writeUInt16BE(id.length)
    const attested = Buffer.concat([Buffer.alloc(16), length, id, isoCBOR.encode(key)])
    const authData = Buffer.concat([this.#data(rp.id, FLAGS.attested, options), attested])
    const attestation = new Map<string, unknown>([
      ['fmt', 'none'],
      ['attStmt', new Map()],
      ['authData', new Uint8Array(authData)],
    ])
    const attestationObject = Buffer.from(isoCBOR.encode(attestation as never)).toString('base64url')
    const clientDataJSON = this.#clientData('webauthn.create', challenge, options).toString('base64url')
    return this.#credential({ clientDataJSON, attestationObject, transports: ['internal'] })
  }

  /** What the browser returns for `options` of the sign-in options. */
  get({ challenge, rpId }: { challenge: string; rpId: string }, options: SoftwareOptions = {}): object {
    this.#counter = options.counter ?? this.#counter + 1
    const clientData = this.#clientData('webauthn.get', challenge, options)
    const data = this.#data(rpId, 0, options)
    const signature = sign('sha256', Buffer.concat([data, digest(clientData)]), this.#privateKey)
    return this.#credential({
      clientDataJSON: clientData.toString('base64url'),
      authenticatorData: data.toString('base64url'),
      signature: signature.toString('base64url'),
      userHandle: this.#userHandle,
    })
  }

  #credential(response: object): object {
    return { id: this.id, rawId: this.id, type: 'public-key', clientExtensionResults: {}, response }
  }

  #clientData(type: string, challenge: string, { origin = this.#app.config.PUBLIC_URL }: SoftwareOptions): Buffer {
    return Buffer.from(JSON.stringify({ type, challenge, origin, crossOrigin: false }))
  }

  #data(rpId: string, flags: number, { unverified = false }: SoftwareOptions): Buffer {
    const head = Buffer.alloc(5)
    head.writeUInt8(FLAGS.userPresent | (unverified ? 0 : FLAGS.userVerified) | flags)
    head.writeUInt32BE(this.#counter, 1)
    return Buffer.concat([digest(Buffer.from(rpId)), head])
  }
}

/** Registers a passkey of a user. @returns the authenticator and the view of the passkey */
export async function registerPasskey(
  app: App,
  { apiKey, password }: { readonly apiKey: string; readonly password: string },
): Promise<{ readonly authenticator: SoftwareAuthenticator; readonly passkey: { readonly _id: string } }> {
  const authenticator = new SoftwareAuthenticator(app)
  const started = await app.send('POST /api/auth/passkeys/options', { apiKey, body: { password } })
  if (started.status !== 200) throw new Error(`no options for a passkey: ${started.text}`)
  const response = authenticator.create(started.body.data.options)
  const registered = await app.send('POST /api/auth/passkeys', { apiKey, body: { name: 'Laptop', response } })
  if (registered.status !== 201) throw new Error(`the passkey was not registered: ${registered.text}`)
  return { authenticator, passkey: registered.body.data }
}

function digest(bytes: Buffer): Buffer {
  return createHash('sha256').update(bytes).digest()
}
