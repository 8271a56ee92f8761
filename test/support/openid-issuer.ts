import { randomBytes } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { exportJWK, generateKeyPair, SignJWT, type CryptoKey, type JWTPayload } from 'jose'
import { Provider } from 'oidc-provider'

export const CLIENT = {
  id: 'crier-client',
  secret: 'a-client-secret-of-some-length',
  redirectUri: 'https://app.example.com/callback',
}
/** Another application at the same issuer. */
export const OTHER_CLIENT = { ...CLIENT, id: 'other-client' }

/** An account at the issuer. */
export interface Account {
  readonly sub: string
  readonly email?: string
  readonly email_verified?: boolean
  readonly name?: string
}

/** The certified `oidc-provider` over HTTP on loopback, with the front end's part of the flows. */
export interface OpenIdIssuer {
  readonly url: string
  /** Replaces the signing key, and publishes only the new one. */
  rotateKeys(): Promise<void>
  /** The requests it received, such as `GET /jwks`. */
  readonly requests: string[]
  /** Sets a handler that answers every request instead; undefined restores the issuer. */
  fail(how: ((request: IncomingMessage, response: ServerResponse) => void) | undefined): void
  /** The issuer's own handler, for requests that `fail` passes on. */
  handle(request: IncomingMessage, response: ServerResponse): void
  /** An ID token from the authorization endpoint. */
  idToken(account: Account, options?: { nonce?: string; client?: typeof CLIENT }): Promise<string>
  /** An authorization code with its PKCE verifier. */
  code(
    account: Account,
    options?: { nonce?: string },
  ): Promise<{ code: string; codeVerifier: string; redirectUri: string }>
  /** A token with any claims, signed with the issuer's key. */
  sign(claims: JWTPayload): Promise<string>
  close(): Promise<void>
}

interface Keys {
  readonly jwk: object
  readonly privateKey: CryptoKey
  readonly kid: string
}

export async function startOpenIdIssuer(): Promise<OpenIdIssuer> {
  const accounts = new Map<string, Account>()
  const requests: string[] = []
  let failure: ((request: IncomingMessage, response: ServerResponse) => void) | undefined
  let handle: (request: IncomingMessage, response: ServerResponse) => void = () => undefined
  const server = createServer((request, response) => {
    requests.push(`${request.method} ${request.url?.split('?')[0]}`)
    ;(failure ?? handle)(request, response)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  let keys = await makeKeys()
  handle = makeHandler(url, keys, accounts)

  const authorize = async (account: Account, query: Record<string, string>): Promise<URLSearchParams> => {
    accounts.set(account.sub, account)
    const parameters = new URLSearchParams({ scope: 'openid email profile', login_hint: account.sub, ...query })
    return followToCallback(`${url}/auth?${parameters.toString()}`)
  }
  return {
    url,
    requests,
    rotateKeys: async () => {
      keys = await makeKeys()
      handle = makeHandler(url, keys, accounts)
    },
    fail: (how) => {
      failure = how
    },
    handle: (request, response) => handle(request, response),
    idToken: async (account, { nonce = randomBytes(12).toString('hex'), client = CLIENT } = {}) => {
      const parameters = await authorize(account, {
        client_id: client.id,
        redirect_uri: client.redirectUri,
        response_type: 'id_token',
        nonce,
      })
      return parameters.get('id_token') ?? ''
    },
    code: async (account, { nonce } = {}) => {
      const codeVerifier = randomBytes(32).toString('base64url')
      const challenge = Buffer.from(await crypto.subtle.digest('SHA-256', Buffer.from(codeVerifier))).toString(
        'base64url',
      )
      const parameters = await authorize(account, {
        client_id: CLIENT.id,
        redirect_uri: CLIENT.redirectUri,
        response_type: 'code',
        code_challenge: challenge,
        code_challenge_method: 'S256',
        ...(nonce === undefined ? {} : { nonce }),
      })
      return { code: parameters.get('code') ?? '', codeVerifier, redirectUri: CLIENT.redirectUri }
    },
    sign: (claims) => new SignJWT(claims).setProtectedHeader({ alg: 'ES256', kid: keys.kid }).sign(keys.privateKey),
    close: async () => {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

async function makeKeys(): Promise<Keys> {
  const { privateKey } = await generateKeyPair('ES256', { extractable: true })
  const kid = randomBytes(6).toString('hex')
  return { jwk: { ...(await exportJWK(privateKey)), kid, alg: 'ES256', use: 'sig' }, privateKey, kid }
}

function makeHandler(url: string, { jwk }: Keys, accounts: ReadonlyMap<string, Account>) {
  const client = ({ id, secret, redirectUri }: typeof CLIENT) => ({
    client_id: id,
    client_secret: secret,
    redirect_uris: [redirectUri],
    application_type: 'web',
    grant_types: ['authorization_code', 'implicit'],
    response_types: ['code', 'id_token'],
    id_token_signed_response_alg: 'ES256',
  })
  const provider = new Provider(url, {
    jwks: { keys: [jwk] },
    clients: [client(CLIENT), client(OTHER_CLIENT)],
    claims: { openid: ['sub'], email: ['email', 'email_verified'], profile: ['name'] },
    responseTypes: ['code', 'id_token'],
    features: { devInteractions: { enabled: false } },
    ttl: { AccessToken: 600, AuthorizationCode: 60, Grant: 600, IdToken: 600, Interaction: 600, Session: 600 },
    cookies: { keys: ['a key for the cookies of a test'] },
    interactions: { url: (_context, { uid }) => `/interaction/${uid}` },
    findAccount: (_context, sub) => {
      const account = accounts.get(sub)
      return account && { accountId: sub, claims: () => ({ ...account }) }
    },
    // Every account has granted everything.
    loadExistingGrant: async (context) => {
      const { oidc } = context
      const grant = new oidc.provider.Grant({ clientId: oidc.client.clientId, accountId: oidc.session.accountId })
      grant.addOIDCScope('openid email profile')
      await grant.save()
      return grant
    },
  })
  const callback = provider.callback()
  return (request: IncomingMessage, response: ServerResponse) => {
    if (!request.url?.startsWith('/interaction/')) {
      void callback(request, response)
      return
    }
    void provider
      .interactionDetails(request, response)
      .then(({ params }) =>
        provider.interactionFinished(request, response, { login: { accountId: String(params['login_hint']) } }),
      )
  }
}

/** Follows redirects like a browser up to the client's callback, and returns its parameters. */
async function followToCallback(start: string): Promise<URLSearchParams> {
  const cookies = new Map<string, string>()
  for (let at = start, steps = 0; steps < 10; steps += 1) {
    if (at.startsWith(CLIENT.redirectUri)) {
      const { search, hash } = new URL(at)
      return new URLSearchParams(search.slice(1) || hash.slice(1))
    }
    const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join('; ')
    const response = await fetch(at, { redirect: 'manual', headers: { cookie } })
    for (const line of response.headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? []
      if (value === '') cookies.delete(name)
      else cookies.set(name, value)
    }
    const location = response.headers.get('location')
    if (location === null) throw new Error(`the issuer returned ${response.status}: ${await response.text()}`)
    at = new URL(location, at).href
  }
  throw new Error('the issuer redirects too often')
}
