import type { errors, JWTPayload } from 'jose'
import type { Clock } from '../../../../core/clock.ts'
import { sha256 } from '../../../../tools/id.ts'
import { Issuer, type IssuerMetadata } from './issuer-metadata.ts'
import { fetchJson, ProviderHttpError } from './provider-http.ts'
import {
  codeOf,
  refuse,
  unavailable,
  type ProvenIdentity,
  type ProviderProof,
  type SignInProvider,
} from './provider.ts'
import { cleanTexts } from '../../../../tools/clean-text.ts'
import { isSameSecret } from '../../../../tools/keys.ts'

/** Public-key signatures only. Tokens that are unsigned or signed with the client secret are refused. */
const ALGORITHMS = ['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512', 'ES256', 'ES384', 'ES512', 'EdDSA', 'Ed25519']
const CLOCK_TOLERANCE_SECONDS = 60

export interface OpenIdOptions {
  readonly label: string
  /** The URL of the issuer, under which its metadata is published. */
  readonly issuer: string
  readonly clientId: string
  readonly clientSecret?: string | undefined
  /** The issuer that the metadata must name, if it is not the URL. */
  readonly publishedIssuer?: string
  /** Whether a token's `iss` is this issuer, if it can differ from the metadata. */
  readonly isIssuer?: (claims: JWTPayload) => boolean
  /** Whether the claims say that the address is verified; `email_verified` when absent. */
  readonly vouchesForEmail?: (claims: JWTPayload) => boolean
}

/**
 * Sign-in with an OpenID Connect issuer, by an ID token or by a code that is exchanged for one. It does not use
 * openid-client, which accepts ID tokens of native apps only with a known nonce: see docs/decisions.md.
 */
export class OpenIdProvider implements SignInProvider {
  readonly label: string
  readonly #options: OpenIdOptions
  readonly #clock: Clock
  readonly #issuer: Issuer

  constructor(options: OpenIdOptions, clock: Clock) {
    this.label = options.label
    this.#options = options
    this.#clock = clock
    this.#issuer = new Issuer(options.issuer, clock, options.publishedIssuer)
  }

  async prove(proof: ProviderProof): Promise<ProvenIdentity> {
    try {
      const { idToken, accessToken } =
        proof.idToken === undefined ? await this.#exchange(proof) : { idToken: proof.idToken }
      const claims = await this.#verify(idToken)
      this.#checkNonce(claims, proof)
      const whole = accessToken === undefined ? claims : await this.#withUserinfo(claims, accessToken)
      return this.#identity(whole, proof.idToken)
    } catch (error) {
      if (error instanceof ProviderHttpError) return unavailable(this.label, error)
      throw error
    }
  }

  /** The authorization code grant with PKCE (RFC 6749, section 4.1.3; RFC 7636). */
  async #exchange(proof: ProviderProof): Promise<{ idToken: string; accessToken?: string }> {
    const { code, codeVerifier, redirectUri } = codeOf(proof)
    const metadata = await this.#issuer.metadata()
    const form = new URLSearchParams({
      grant_type: 'authorization_code',
      code,
      code_verifier: codeVerifier,
      redirect_uri: redirectUri,
    })
    const authorization = this.#authenticate(metadata, form)
    const { status, body } = await fetchJson(metadata.tokenEndpoint, {
      method: 'POST',
      headers: { 'Content-Type': 'application/x-www-form-urlencoded', ...authorization },
      body: form.toString(),
    })
    const { error, ...tokens } = (body ?? {}) as { error?: string; id_token?: unknown; access_token?: unknown }
    if (status === 200 && typeof tokens.id_token === 'string') {
      return {
        idToken: tokens.id_token,
        ...(typeof tokens.access_token === 'string' && { accessToken: tokens.access_token }),
      }
    }
    if (status === 400 && (error === 'invalid_grant' || error === 'invalid_request')) {
      return refuse(`${this.label} did not accept the code (${error})`)
    }
    throw new ProviderHttpError(`the token endpoint of ${this.label} answered ${status} ${error ?? ''}`)
  }

  /** Authenticates the client in a way that the issuer supports (RFC 6749, section 2.3.1). */
  #authenticate(metadata: IssuerMetadata, form: URLSearchParams): Record<string, string> {
    const { clientId, clientSecret } = this.#options
    if (clientSecret !== undefined && !metadata.tokenAuthMethods.includes('client_secret_post')) {
      const pair = [clientId, clientSecret]
        .map((part) => new URLSearchParams({ '': part }).toString().slice(1))
        .join(':')
      return { Authorization: `Basic ${Buffer.from(pair).toString('base64')}` }
    }
    form.set('client_id', clientId)
    if (clientSecret !== undefined) form.set('client_secret', clientSecret)
    return {}
  }

  /** OpenID Connect Core, section 3.1.3.7. */
  async #verify(idToken: string): Promise<JWTPayload> {
    const { clientId, isIssuer } = this.#options
    let claims: JWTPayload
    const jose = await import('jose')
    try {
      const { issuer } = await this.#issuer.metadata()
      const verified = await jose.jwtVerify(idToken, this.#issuer.key, {
        algorithms: ALGORITHMS,
        audience: clientId,
        ...(isIssuer === undefined ? { issuer } : {}),
        clockTolerance: CLOCK_TOLERANCE_SECONDS,
        currentDate: new Date(this.#clock.now()),
        requiredClaims: ['iss', 'sub', 'aud', 'exp', 'iat'],
      })
      claims = cleanTexts(verified.payload) as JWTPayload
    } catch (error) {
      if (error instanceof jose.errors.JOSEError) return refuse(reasonOf(error, jose.errors), error)
      throw error
    }
    if (isIssuer && !isIssuer(claims)) return refuse('the ID token comes from another issuer')
    const { aud, azp } = claims
    if ((Array.isArray(aud) && aud.length > 1 && azp === undefined) || (azp !== undefined && azp !== clientId)) {
      return refuse('the ID token was issued for another application')
    }
    return claims
  }

  /**
   * With an access token, an issuer may leave the address out of the ID token and return it from the UserInfo endpoint
   * (OpenID Connect Core, section 5.4).
   */
  async #withUserinfo(claims: JWTPayload, accessToken: string): Promise<JWTPayload> {
    const { userinfoEndpoint } = await this.#issuer.metadata()
    if (claims['email'] !== undefined || userinfoEndpoint === undefined) return claims
    const { status, body } = await fetchJson(userinfoEndpoint, {
      headers: { Authorization: `Bearer ${accessToken}` },
    })
    if (status !== 200) throw new ProviderHttpError(`the UserInfo endpoint of ${this.label} answered ${status}`)
    const { sub, email, email_verified, name } = (body ?? {}) as JWTPayload
    // Section 5.3.2: the response must be about the subject of the ID token.
    if (sub !== claims.sub) return refuse('the ID token and UserInfo have different subjects')
    return { ...claims, email, email_verified, name }
  }

  #checkNonce(claims: JWTPayload, { nonce }: ProviderProof): void {
    const claimed = claims['nonce']
    if (claimed === undefined && nonce === undefined) return
    // Apple's SDKs put the SHA-256 of the nonce into the token.
    const matches =
      typeof claimed === 'string' &&
      nonce !== undefined &&
      (isSameSecret(claimed, nonce) || isSameSecret(claimed, sha256(nonce)))
    if (!matches) refuse('the nonce does not match the ID token')
  }

  #identity(claims: JWTPayload, givenToken: string | undefined): ProvenIdentity {
    const { email, name } = claims as { email?: unknown; name?: unknown }
    const vouches = this.#options.vouchesForEmail ?? emailVerified
    const nonce = claims['nonce']
    const id = typeof nonce === 'string' ? `nonce ${nonce}` : `token ${givenToken}`
    return {
      issuer: claims.iss ?? '',
      subject: claims.sub ?? '',
      email: typeof email === 'string' ? email : undefined,
      emailVerified: typeof email === 'string' && vouches(claims),
      name: typeof name === 'string' ? name : undefined,
      // The issuer accepts a code once. A token from a front end is marked as used here.
      singleUse:
        givenToken === undefined
          ? undefined
          : { id: `${claims.iss} ${id}`, until: ((claims.exp ?? 0) + CLOCK_TOLERANCE_SECONDS) * 1000 },
    }
  }
}

/** Apple sends the claim as a string. */
export function emailVerified(claims: JWTPayload): boolean {
  return claims['email_verified'] === true || claims['email_verified'] === 'true'
}

function reasonOf(error: errors.JOSEError, kinds: typeof errors): string {
  if (error instanceof kinds.JWTExpired) return 'the ID token has expired'
  if (error instanceof kinds.JWTClaimValidationFailed) {
    if (error.claim === 'aud') return 'the ID token was issued for another application'
    if (error.claim === 'iss') return 'the ID token comes from another issuer'
    return `the claim ${error.claim} of the ID token is not valid`
  }
  if (error instanceof kinds.JOSEAlgNotAllowed) return 'the ID token is not signed with an accepted algorithm'
  if (error instanceof kinds.JWKSNoMatchingKey)
    return 'the ID token is signed with a key that the issuer does not publish'
  if (error instanceof kinds.JWSSignatureVerificationFailed) return 'the signature of the ID token is not valid'
  return 'the ID token is malformed'
}
