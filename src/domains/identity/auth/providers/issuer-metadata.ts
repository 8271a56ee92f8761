import type { JSONWebKeySet, JWTVerifyGetKey } from 'jose'
import { HOUR, SECOND, type Clock } from '../../../../core/clock.ts'
import { fetchJson, ProviderHttpError } from './provider-http.ts'

const METADATA_KEPT_MS = HOUR
const KEYS_KEPT_MS = HOUR
/** Tokens that name unknown keys cause at most one request in this time. */
const KEYS_PAUSE_MS = 10 * SECOND

export interface IssuerMetadata {
  /** As published. Microsoft's contains `{tenantid}`. */
  readonly issuer: string
  readonly tokenEndpoint: string
  readonly jwksUri: string
  readonly userinfoEndpoint: string | undefined
  readonly tokenAuthMethods: readonly string[]
}

interface Kept<T> {
  readonly value: Promise<T>
  readonly at: number
}

/**
 * The metadata and keys that an issuer publishes (OpenID Connect Discovery). Both are cached for an hour. A token that is
 * signed with an unknown key causes the keys to be read again.
 */
export class Issuer {
  readonly #url: string
  readonly #clock: Clock
  readonly #expectedIssuer: string
  #metadata: Kept<IssuerMetadata> | undefined
  #keys: Kept<JWTVerifyGetKey> | undefined

  /** @param expectedIssuer what the document must name as issuer; the URL itself when absent */
  constructor(url: string, clock: Clock, expectedIssuer = url) {
    this.#url = url.replace(/\/$/, '')
    this.#clock = clock
    this.#expectedIssuer = expectedIssuer
  }

  /** @throws ProviderHttpError */
  metadata(): Promise<IssuerMetadata> {
    if (this.#metadata && !this.#older(this.#metadata, METADATA_KEPT_MS)) return this.#metadata.value
    const kept = { value: this.#discover(), at: this.#clock.monotonic() }
    this.#metadata = kept
    // Failures are not cached.
    kept.value.catch(() => {
      if (this.#metadata === kept) this.#metadata = undefined
    })
    return kept.value
  }

  /** Finds the key that a token names. @throws ProviderHttpError; errors.JWKSNoMatchingKey of jose */
  readonly key: JWTVerifyGetKey = async (header, token) => {
    const kept = this.#currentKeys()
    try {
      return await (
        await kept.value
      )(header, token)
    } catch (error) {
      const { errors } = await import('jose')
      if (!(error instanceof errors.JWKSNoMatchingKey) || !this.#older(kept, KEYS_PAUSE_MS)) throw error
      // Concurrent tokens that name a new key cause one request.
      if (this.#keys === kept) this.#keys = undefined
      return (await this.#currentKeys().value)(header, token)
    }
  }

  #currentKeys(): Kept<JWTVerifyGetKey> {
    if (this.#keys && !this.#older(this.#keys, KEYS_KEPT_MS)) return this.#keys
    const kept = { value: this.#readKeys(), at: this.#clock.monotonic() }
    this.#keys = kept
    kept.value.catch(() => {
      if (this.#keys === kept) this.#keys = undefined
    })
    return kept
  }

  #older(kept: { at: number }, ms: number): boolean {
    return this.#clock.monotonic() - kept.at >= ms
  }

  async #discover(): Promise<IssuerMetadata> {
    const { status, body } = await fetchJson(`${this.#url}/.well-known/openid-configuration`)
    const found = body as Record<string, unknown> | undefined
    if (status !== 200 || found === undefined)
      throw new ProviderHttpError(`${this.#url} published no metadata: ${status}`)
    // OpenID Connect Discovery, section 4.3: the document must be the issuer's own.
    if (found['issuer'] !== this.#expectedIssuer) {
      throw new ProviderHttpError(`${this.#url} names itself ${String(found['issuer'])}`)
    }
    const methods = found['token_endpoint_auth_methods_supported']
    return {
      issuer: this.#expectedIssuer,
      tokenEndpoint: this.#endpoint(found, 'token_endpoint'),
      jwksUri: this.#endpoint(found, 'jwks_uri'),
      userinfoEndpoint:
        found['userinfo_endpoint'] === undefined ? undefined : this.#endpoint(found, 'userinfo_endpoint'),
      tokenAuthMethods: Array.isArray(methods) ? (methods as string[]) : ['client_secret_basic'],
    }
  }

  #endpoint(found: Record<string, unknown>, name: string): string {
    const url = found[name]
    // Plain HTTP is allowed only if the configured URL of the issuer uses it (in tests and local networks).
    if (
      typeof url !== 'string' ||
      !URL.canParse(url) ||
      (!url.startsWith('https:') && !this.#url.startsWith('http:'))
    ) {
      throw new ProviderHttpError(`${this.#url} published no usable ${name}`)
    }
    return url
  }

  async #readKeys(): Promise<JWTVerifyGetKey> {
    const { jwksUri } = await this.metadata()
    const { status, body } = await fetchJson(jwksUri)
    if (status !== 200) throw new ProviderHttpError(`${jwksUri} answered ${status}`)
    const { createLocalJWKSet } = await import('jose')
    try {
      return createLocalJWKSet(body as JSONWebKeySet)
    } catch (error) {
      throw new ProviderHttpError(`${jwksUri} published no key set`, { cause: error })
    }
  }
}
