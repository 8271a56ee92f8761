import { createHash, randomBytes } from 'node:crypto'
import type { Clock } from '../src/core/clock.ts'
import type { Credential } from '../src/platforms/platform.ts'
import { consentPage } from './consent-page.ts'
import { json, type FakeReply, type FakeRequest } from './fake.ts'

/** An app that is registered at a fake. */
export interface FakeApp {
  readonly secret: string
  /** Undefined: every address that ends with Crier's callback path. */
  readonly redirectUris?: readonly string[]
  /** Undefined: all scopes of the platform. */
  readonly scopes?: readonly string[]
}

/** Who a token belongs to. */
export interface TokenHolder {
  readonly app: string
  /** The id of the account at the fake. */
  readonly account: string
  readonly scopes: readonly string[]
}

interface Code extends TokenHolder {
  readonly redirectUri: string
  readonly challenge: string | null
  readonly expiresAt: number
}

interface StoredToken extends TokenHolder {
  /** Milliseconds since the epoch; null for a token that does not expire. */
  readonly expiresAt: number | null
}

/** The part of a fake's state that belongs to OAuth. */
export interface OAuthState {
  readonly codes: Record<string, Code>
  readonly tokens: Record<string, StoredToken>
  readonly refreshTokens: Record<string, StoredToken>
  /** Refresh tokens that were used and replaced. */
  readonly spent: Record<string, TokenHolder>
}

export function newOAuthState(): OAuthState {
  return { codes: {}, tokens: {}, refreshTokens: {}, spent: {} }
}

export interface FakeOAuthOptions {
  readonly title: string
  readonly clock: Clock
  readonly state: OAuthState
  readonly scopes: readonly string[]
  /** The id of the account with this name. The account is created if there is none. */
  readonly accountOf: (name: string) => string
  /** Apps beside the one of the sandbox, for platforms where apps register themselves. */
  readonly findApp?: (clientId: string) => FakeApp | undefined
  /** `client_id` when absent. */
  readonly clientIdParam?: string
  /** A space when absent. */
  readonly scopeSeparator?: string
  readonly clientAuth: 'body' | 'basic'
  readonly pkce: 'required' | 'optional'
  /** Seconds; tokens do not expire when absent. */
  readonly accessLife?: number
  /**
   * `rotating`: each refresh token works once, and using a spent one revokes the grant. `reusable`: it stays the same.
   * Absent: none is issued.
   */
  readonly refresh?: 'rotating' | 'reusable'
  /** Whether a refresh returns the refresh token that stays the same; true when absent. */
  readonly repeatsRefreshToken?: boolean
  /** Seconds; refresh tokens do not expire when absent. */
  readonly refreshLife?: number
  /** The field of a token response with the life of the refresh token; `refresh_token_expires_in` when absent. */
  readonly refreshLifeField?: string
  /** Whether the grant includes a refresh token: X gives one only with `offline.access`. */
  readonly refreshWith?: (scopes: readonly string[]) => boolean
  /** Further fields of a token response. */
  readonly tokenFields?: (holder: TokenHolder) => Readonly<Record<string, unknown>>
  /** The body of an error of the token endpoint; RFC 6749 when absent. */
  readonly errorBody?: (error: string, description: string) => unknown
}

/** The id and secret of the app that every fake knows. */
export const SANDBOX_APP = { clientId: 'crier-sandbox', clientSecret: 'crier-sandbox-secret' }

const CODE_MS = 600_000
const CALLBACK = /^https?:\/\/[^/]+\/api\/social-accounts\/oauth\/[\w-]+\/callback$/

/**
 * The OAuth 2.0 server of a fake: consent page, codes that work once, PKCE, expiry, rotating refresh tokens and
 * revocation, with the deviations that the platforms have.
 */
export class FakeOAuth {
  readonly #options: FakeOAuthOptions

  constructor(options: FakeOAuthOptions) {
    this.#options = options
  }

  /** The consent page (GET), and the decision of the user (POST). */
  authorize({ body, method, query }: FakeRequest): FakeReply {
    const { clientIdParam = 'client_id', pkce, scopeSeparator = ' ', title } = this.#options
    const params = method === 'GET' ? Object.fromEntries(query) : (body as Record<string, string>)
    const clientId = params[clientIdParam] ?? ''
    const app = this.#app(clientId)
    const redirectUri = params['redirect_uri'] ?? ''
    if (app === undefined) return { status: 400, body: `${title} (sandbox): the app “${clientId}” is unknown.` }
    if (!allowsRedirect(app, redirectUri)) {
      return { status: 400, body: `${title} (sandbox): the redirect URI is not registered.` }
    }
    const back = (extra: Record<string, string>): FakeReply => {
      const url = new URL(redirectUri)
      const all = { ...extra, ...(params['state'] !== undefined && { state: params['state'] }) }
      for (const [name, value] of Object.entries(all)) url.searchParams.set(name, value)
      return { status: 302, headers: { Location: url.href } }
    }
    const known = app.scopes ?? this.#options.scopes
    const scopes = (params['scope'] ?? '').split(scopeSeparator).filter(Boolean)
    if (params['response_type'] !== 'code') return back({ error: 'unsupported_response_type' })
    if (scopes.some((scope) => !known.includes(scope))) return back({ error: 'invalid_scope' })
    const challenge = params['code_challenge']
    if (pkce === 'required' && challenge === undefined) return back({ error: 'invalid_request' })
    if (challenge !== undefined && params['code_challenge_method'] !== 'S256') return back({ error: 'invalid_request' })
    if (method === 'GET') return { status: 200, body: consentPage(title, params, scopes) }
    if (params['decision'] !== 'allow') {
      return back({ error: 'access_denied', error_description: 'The user denied the request.' })
    }
    // A scope that the user unticked is left out, as on the consent pages of Google, TikTok and Meta.
    const granted = scopes.filter((scope) => params[`without ${scope}`] === undefined)
    const code = randomBytes(32).toString('base64url')
    this.#options.state.codes[code] = {
      app: clientId,
      account: this.#options.accountOf(params['account'] ?? 'sandbox'),
      scopes: granted,
      redirectUri,
      challenge: challenge ?? null,
      expiresAt: this.#options.clock.now() + CODE_MS,
    }
    return back({ code })
  }

  /** The token endpoint: `authorization_code` and `refresh_token`. */
  token({ body, headers }: FakeRequest): FakeReply {
    const params = body as Readonly<Record<string, string | undefined>>
    const { clientAuth, clientIdParam = 'client_id' } = this.#options
    const [clientId = '', secret = ''] =
      clientAuth === 'basic' ? basicOf(headers.authorization) : [params[clientIdParam], params['client_secret']]
    const app = this.#app(clientId)
    if (app === undefined || app.secret !== secret) return this.#refuse(401, 'invalid_client', 'The app is unknown.')
    if (params['grant_type'] === 'authorization_code') return this.#exchange(clientId, params)
    if (params['grant_type'] === 'refresh_token') return this.#refresh(clientId, params['refresh_token'] ?? '')
    return this.#refuse(400, 'unsupported_grant_type', 'The grant type is unknown.')
  }

  /** The holder of the token of a request: the Bearer token, unless `token` is given. */
  holder({ headers }: Pick<FakeRequest, 'headers'>, token?: string): TokenHolder | undefined {
    const { clock, state } = this.#options
    const found = state.tokens[token ?? /^Bearer (.+)$/i.exec(headers.authorization ?? '')?.[1] ?? '']
    if (found === undefined || (found.expiresAt !== null && found.expiresAt <= clock.now())) return undefined
    return found
  }

  /** Ends a token and, with it, all tokens of the same app and account. @returns whether it was known */
  revoke(token: string): boolean {
    const { state } = this.#options
    const found = state.tokens[token] ?? state.refreshTokens[token]
    if (found === undefined) return false
    this.end(found)
    return true
  }

  /** Ends the grant of an app for an account. */
  end({ account, app }: Pick<TokenHolder, 'account' | 'app'>): void {
    const { state } = this.#options
    for (const tokens of [state.tokens, state.refreshTokens]) {
      for (const [text, holder] of Object.entries(tokens)) {
        if (holder.account === account && holder.app === app) delete tokens[text]
      }
    }
  }

  /** Issues tokens without consent. */
  grant(account: string, scopes: readonly string[] = this.#options.scopes): Credential {
    const { clock } = this.#options
    const issued = this.#issue({ app: SANDBOX_APP.clientId, account, scopes })
    const { accessLife, refreshLife } = this.#options
    return {
      accessToken: issued.accessToken,
      scopes,
      ...(issued.refreshToken !== undefined && { refreshToken: issued.refreshToken }),
      ...(accessLife !== undefined && { expiresAt: clock.now() + accessLife * 1_000 }),
      ...(issued.refreshToken !== undefined &&
        refreshLife !== undefined && { refreshExpiresAt: clock.now() + refreshLife * 1_000 }),
    }
  }

  #app(clientId: string): FakeApp | undefined {
    if (clientId === SANDBOX_APP.clientId) return { secret: SANDBOX_APP.clientSecret }
    return this.#options.findApp?.(clientId)
  }

  #exchange(clientId: string, params: Readonly<Record<string, string | undefined>>): FakeReply {
    const { clock, state } = this.#options
    const code = state.codes[params['code'] ?? '']
    delete state.codes[params['code'] ?? '']
    const isValid =
      code !== undefined &&
      code.app === clientId &&
      code.expiresAt > clock.now() &&
      code.redirectUri === params['redirect_uri'] &&
      (code.challenge === null || code.challenge === challengeOf(params['code_verifier'] ?? ''))
    if (!isValid) return this.#refuse(400, 'invalid_grant', 'The code is invalid, expired or used.')
    return json(200, this.#reply({ app: clientId, account: code.account, scopes: code.scopes }))
  }

  #refresh(clientId: string, token: string): FakeReply {
    const { clock, refresh, state } = this.#options
    const spent = state.spent[token]
    if (spent !== undefined) this.end(spent)
    const held = state.refreshTokens[token]
    const isValid =
      held !== undefined && held.app === clientId && (held.expiresAt === null || held.expiresAt > clock.now())
    if (!isValid) return this.#refuse(400, 'invalid_grant', 'The refresh token is invalid, expired or revoked.')
    const holder = { app: held.app, account: held.account, scopes: held.scopes }
    if (refresh !== 'rotating') return json(200, this.#reply(holder, token))
    delete state.refreshTokens[token]
    state.spent[token] = holder
    return json(200, this.#reply(holder))
  }

  #reply(holder: TokenHolder, kept?: string): Record<string, unknown> {
    const { accessLife, refreshLife, scopeSeparator = ' ', tokenFields } = this.#options
    const { refreshLifeField = 'refresh_token_expires_in', repeatsRefreshToken = true } = this.#options
    const issued = this.#issue(holder, kept)
    const { accessToken } = issued
    const refreshToken = repeatsRefreshToken || issued.refreshToken !== kept ? issued.refreshToken : undefined
    return {
      access_token: accessToken,
      token_type: 'bearer',
      scope: holder.scopes.join(scopeSeparator),
      ...(accessLife !== undefined && { expires_in: accessLife }),
      ...(refreshToken !== undefined && { refresh_token: refreshToken }),
      ...(refreshToken !== undefined &&
        refreshLife !== undefined && { [refreshLifeField]: this.#lifeOf(refreshToken) }),
      ...tokenFields?.(holder),
    }
  }

  /** Seconds that a refresh token still works. Using one that stays the same does not extend it. */
  #lifeOf(refreshToken: string): number {
    const { clock, state } = this.#options
    return Math.round(((state.refreshTokens[refreshToken]?.expiresAt ?? 0) - clock.now()) / 1_000)
  }

  #issue(holder: TokenHolder, kept?: string): { accessToken: string; refreshToken?: string } {
    const { accessLife, clock, refresh, refreshLife, refreshWith, state } = this.#options
    const until = (life: number | undefined) => (life === undefined ? null : clock.now() + life * 1_000)
    const accessToken = randomBytes(32).toString('base64url')
    state.tokens[accessToken] = { ...holder, expiresAt: until(accessLife) }
    if (refresh === undefined || refreshWith?.(holder.scopes) === false) return { accessToken }
    if (kept !== undefined) return { accessToken, refreshToken: kept }
    const refreshToken = randomBytes(32).toString('base64url')
    state.refreshTokens[refreshToken] = { ...holder, expiresAt: until(refreshLife) }
    return { accessToken, refreshToken }
  }

  #refuse(status: number, error: string, description: string): FakeReply {
    return json(status, this.#options.errorBody?.(error, description) ?? { error, error_description: description })
  }
}

function allowsRedirect({ redirectUris }: FakeApp, uri: string): boolean {
  return redirectUris === undefined ? CALLBACK.test(uri) : redirectUris.includes(uri)
}

function basicOf(header: string | undefined): string[] {
  const [, encoded = ''] = /^Basic (.+)$/i.exec(header ?? '') ?? []
  return Buffer.from(encoded, 'base64').toString('utf8').split(':').map(decodeURIComponent)
}

function challengeOf(verifier: string): string {
  return createHash('sha256').update(verifier).digest('base64url')
}
