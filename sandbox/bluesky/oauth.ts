import { randomBytes } from 'node:crypto'
import type { Clock } from '../../src/core/clock.ts'
import { json, type FakeReply, type FakeRequest } from '../fake.ts'
import { FakeOAuth } from '../oauth-server.ts'
import { textOf, type State } from './state.ts'

const SCOPES = ['atproto', 'transition:generic']
const REQUEST_MS = 300_000
const ACCESS_SECONDS = 3_600

/**
 * The authorization server of the sandbox: pushed requests, consent, and single-use refresh tokens. It does not check
 * proofs of DPoP and of the client; the tests of those use a real PDS.
 */
export class FakeAuthorizationServer {
  readonly #state: State
  readonly #clock: Clock
  readonly #oauth: FakeOAuth

  /** @param didOf creates the account with a name if there is none */
  constructor(state: State, clock: Clock, didOf: (name: string) => string) {
    this.#state = state
    this.#clock = clock
    this.#oauth = new FakeOAuth({
      title: 'Bluesky',
      clock,
      state: state.oauth,
      scopes: SCOPES,
      accountOf: (name) => didOf(`${name.replaceAll(/[^a-z0-9-]/gi, '-').toLowerCase()}.test`),
      // The client of a pushed request was checked when it was pushed.
      findApp: (id) => ({ secret: '', redirectUris: state.clients[id] ?? [] }),
      clientAuth: 'body',
      pkce: 'required',
      accessLife: ACCESS_SECONDS,
      refresh: 'rotating',
      tokenFields: ({ account }) => ({ token_type: 'DPoP', sub: account }),
    })
  }

  /** @returns undefined for a path that is not of this server */
  handle(request: FakeRequest): FakeReply | undefined {
    const { base, body, path } = request
    switch (path) {
      case '/.well-known/oauth-protected-resource':
        return json(200, { resource: base, authorization_servers: [base], scopes_supported: SCOPES })
      case '/.well-known/oauth-authorization-server':
        return json(200, metadataOf(base))
      case '/oauth/par':
        return this.#push(body)
      case '/oauth/authorize':
        return this.#authorize(request)
      case '/oauth/token':
        return this.#oauth.token(request)
      case '/oauth/revoke':
        this.#oauth.revoke(textOf(body['token']))
        return json(200, {})
      default:
        return undefined
    }
  }

  /** The account of a token that is bound by DPoP; undefined when the token has ended. */
  accountOf(request: FakeRequest): string | undefined {
    const token = /^DPoP (.+)$/i.exec(request.headers.authorization ?? '')?.[1] ?? ''
    return this.#oauth.holder(request, token)?.account
  }

  #push(body: FakeRequest['body']): FakeReply {
    const clientId = textOf(body['client_id'])
    const redirectUri = textOf(body['redirect_uri'])
    // The id of a client on loopback names its callbacks. Others have a document, which the sandbox does not fetch.
    const named = new URL(URL.canParse(clientId) ? clientId : 'http://invalid').searchParams.getAll('redirect_uri')
    const isLoopback = clientId.startsWith('http://localhost')
    if ((isLoopback && !named.includes(redirectUri)) || !URL.canParse(redirectUri)) {
      return json(400, { error: 'invalid_request', error_description: 'Invalid redirect_uri' })
    }
    const id = `urn:ietf:params:oauth:request_uri:req-${randomBytes(16).toString('hex')}`
    this.#state.clients[clientId] = [redirectUri]
    this.#state.pushed[id] = { params: body as Record<string, string>, until: this.#clock.now() + REQUEST_MS }
    return json(201, { request_uri: id, expires_in: REQUEST_MS / 1_000 })
  }

  /** The consent page, with the parameters that were pushed. */
  #authorize(request: FakeRequest): FakeReply {
    if (request.method !== 'GET') return this.#oauth.authorize(request)
    const pushed = this.#state.pushed[request.query.get('request_uri') ?? '']
    if (pushed === undefined || pushed.until <= this.#clock.now()) {
      return { status: 400, body: 'Bluesky (sandbox): the request has expired.' }
    }
    return this.#oauth.authorize({ ...request, query: new URLSearchParams(pushed.params) })
  }
}

function metadataOf(base: string) {
  return {
    issuer: base,
    authorization_endpoint: `${base}/oauth/authorize`,
    token_endpoint: `${base}/oauth/token`,
    revocation_endpoint: `${base}/oauth/revoke`,
    pushed_authorization_request_endpoint: `${base}/oauth/par`,
    require_pushed_authorization_requests: true,
    scopes_supported: SCOPES,
    response_types_supported: ['code'],
    response_modes_supported: ['query'],
    grant_types_supported: ['authorization_code', 'refresh_token'],
    code_challenge_methods_supported: ['S256'],
    token_endpoint_auth_methods_supported: ['none', 'private_key_jwt'],
    token_endpoint_auth_signing_alg_values_supported: ['ES256'],
    dpop_signing_alg_values_supported: ['ES256'],
    client_id_metadata_document_supported: true,
    protected_resources: [base],
  }
}
