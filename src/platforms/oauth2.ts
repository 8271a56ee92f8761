import { createHash } from 'node:crypto'
import { PlatformError } from './error-kinds.ts'
import type { PlatformHttp } from './http/platform-http.ts'
import type { AccountContext, AuthorizeRequest, Credential } from './platform.ts'

/**
 * OAuth 2.0 (RFC 6749) with the deviations of the networks. A general client refuses several of them: Meta omits
 * `token_type`, TikTok calls the client id `client_key`, LinkedIn sends lifetimes of both tokens.
 */
export interface OAuthEndpoints {
  readonly authorizeUrl: string
  readonly tokenUrl: string
}

export interface OAuthQuirks {
  /** Name of the client id; `client_id` when absent. */
  readonly clientIdParam?: string
  /** Between scopes; a space when absent. */
  readonly scopeSeparator?: string
  /** How the client authenticates at the token endpoint: in the body, or by HTTP Basic. */
  readonly clientAuth: 'body' | 'basic'
  readonly pkce: boolean
  /** Further parameters of the consent page. */
  readonly authorizeParams?: Readonly<Record<string, string>>
}

export interface OAuthClient extends OAuthEndpoints {
  readonly clientId: string
  readonly clientSecret: string
  readonly scopes: readonly string[]
  readonly quirks: OAuthQuirks
  /** Further headers of the token endpoint. */
  readonly headers?: Readonly<Record<string, string>>
  /** Whether the server is one that a user entered. */
  readonly userHost?: boolean
}

/** The URL of the consent page. The PKCE method is S256 (RFC 7636). */
export function authorizeUrl(client: OAuthClient, { codeVerifier, redirectUri, state }: AuthorizeRequest): string {
  const { quirks } = client
  const url = new URL(client.authorizeUrl)
  const params = {
    response_type: 'code',
    [quirks.clientIdParam ?? 'client_id']: client.clientId,
    redirect_uri: redirectUri,
    scope: client.scopes.join(quirks.scopeSeparator ?? ' '),
    state,
    ...(quirks.pkce && { code_challenge: challengeOf(codeVerifier), code_challenge_method: 'S256' }),
    ...quirks.authorizeParams,
  }
  for (const [name, value] of Object.entries(params)) url.searchParams.set(name, value)
  return url.href
}

function challengeOf(verifier: string): string {
  return createHash('sha256').update(verifier).digest('base64url')
}

export interface TokenContext {
  readonly http: PlatformHttp
  readonly title: string
  /** Milliseconds since the epoch. */
  readonly now: number
  readonly signal?: AbortSignal | undefined
}

/**
 * Calls the token endpoint.
 * @param grant the parameters of the grant, such as `grant_type` and `code`
 * @throws PlatformError
 */
export async function requestToken(
  client: OAuthClient,
  grant: Readonly<Record<string, string | undefined>>,
  { http, now, signal, title }: TokenContext,
): Promise<Credential> {
  const { clientId, clientSecret, quirks } = client
  const reply = await http.send({
    method: 'POST',
    url: client.tokenUrl,
    form: {
      ...grant,
      ...(quirks.clientAuth === 'body' && {
        [quirks.clientIdParam ?? 'client_id']: clientId,
        client_secret: clientSecret,
      }),
    },
    headers: {
      ...client.headers,
      ...(quirks.clientAuth === 'basic' && { Authorization: basicAuthorization(clientId, clientSecret) }),
    },
    secrets: [clientSecret, ...Object.values(grant).filter((value) => value !== undefined)],
    ...(client.userHost && { userHost: true }),
    signal,
  })
  return credentialOf(reply.json, now, title)
}

/** The Authorization header of a client (RFC 6749, 2.3.1). */
export function basicAuthorization(clientId: string, clientSecret: string): string {
  const text = `${encodeURIComponent(clientId)}:${encodeURIComponent(clientSecret)}`
  return `Basic ${Buffer.from(text).toString('base64')}`
}

/**
 * New tokens for the refresh token of an account (RFC 6749, 6).
 * @throws PlatformError auth_expired when there is no refresh token, or the platform refuses it
 */
export async function refreshToken(
  client: OAuthClient,
  { clock, credential, http, signal }: AccountContext,
  title: string,
): Promise<Credential> {
  const { refreshToken: token } = credential
  if (token === undefined) {
    throw new PlatformError('auth_expired', title, { code: 'no_refresh_token', mayHaveHappened: false })
  }
  const grant = { grant_type: 'refresh_token', refresh_token: token }
  return requestToken(client, grant, { http, now: clock.now(), signal, title })
}

/**
 * Reads a token response (RFC 6749, 5.1). An empty token counts as absent, so that it never replaces a good one.
 * @throws PlatformError unknown when there is no access token
 */
export function credentialOf(json: unknown, now: number, title: string): Credential {
  const answer = (json ?? {}) as Readonly<Record<string, unknown>>
  const accessToken = textOf(answer['access_token'])
  if (accessToken === undefined) {
    throw new PlatformError('unknown', title, { code: 'no_access_token', detail: 'the reply has no access token' })
  }
  const refreshToken = textOf(answer['refresh_token'])
  const expiresAt = timeOf(answer['expires_in'], now)
  const refreshExpiresAt = timeOf(answer['refresh_token_expires_in'] ?? answer['refresh_expires_in'], now)
  const scope = textOf(answer['scope'])
  return {
    accessToken,
    ...(refreshToken !== undefined && { refreshToken }),
    ...(expiresAt !== undefined && { expiresAt }),
    ...(refreshExpiresAt !== undefined && { refreshExpiresAt }),
    ...(scope !== undefined && { scopes: scope.split(/[\s,]+/).filter(Boolean) }),
  }
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined
}

function timeOf(seconds: unknown, now: number): number | undefined {
  const number = Number(seconds)
  return seconds !== null && seconds !== undefined && Number.isFinite(number) && number > 0
    ? now + number * 1_000
    : undefined
}
