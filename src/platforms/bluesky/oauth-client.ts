import type {
  JoseKey,
  NodeOAuthClient,
  NodeSavedSession,
  NodeSavedState,
  OAuthClientMetadataInput,
} from '@atproto/oauth-client-node'
import { MINUTE } from '../../core/clock.ts'
import { PlatformError } from '../error-kinds.ts'
import type { ClientKey, PlatformContext, PlatformSettings } from '../platform.ts'
import { identityOf } from './identity.ts'
import type { GuardedFetch } from './oauth-fetch.ts'
import { TITLE, urlOf } from './servers.ts'

/**
 * The library has 900 modules, and loading them takes a tenth of the startup time. So it is loaded at the first
 * sign-in.
 */
export const oauthLibrary = () => import('@atproto/oauth-client-node')

export const SCOPES = ['atproto', 'transition:generic'] as const
const SCOPE = SCOPES.join(' ')
const METADATA_PATH = '/api/oauth/atproto/client-metadata.json'
const JWKS_PATH = '/api/oauth/atproto/jwks.json'
const CALLBACK_PATH = '/api/oauth/atproto/callback'

/** A store of the library with one entry, which the caller keeps. */
export interface Kept<V> {
  value: V | undefined
}

/** Whether this server runs on the machine of its user: it is then a public client, without a document or keys. */
function isLoopback(publicUrl: string): boolean {
  const { hostname, protocol } = new URL(publicUrl)
  return protocol === 'http:' && ['localhost', '127.0.0.1', '[::1]'].includes(hostname)
}

/**
 * The callback. For a server on loopback it has the address in place of the name (RFC 8252, 8.3).
 * @throws PlatformError app_misconfigured when the server is neither on HTTPS nor on loopback
 */
export function redirectUri(publicUrl: string): string {
  if (isLoopback(publicUrl)) return `${publicUrl.replace('//localhost', '//127.0.0.1')}${CALLBACK_PATH}`
  if (publicUrl.startsWith('https:')) return `${publicUrl}${CALLBACK_PATH}`
  throw new PlatformError('app_misconfigured', TITLE, {
    code: 'public_url',
    detail: 'sign-in needs a PUBLIC_URL with https; app passwords work without it',
    mayHaveHappened: false,
  })
}

/** The documents by which servers of the network know this client (atproto.com/specs/oauth, 2026-11). */
export const documents = {
  [METADATA_PATH]: ({ publicUrl }: PlatformContext) => Promise.resolve(metadataOf(publicUrl)),
  [JWKS_PATH]: async ({ keys }: PlatformContext) => ({ keys: (await keys.list()).map(publicKeyOf) }),
}

function metadataOf(publicUrl: string) {
  return {
    client_id: `${publicUrl}${METADATA_PATH}`,
    client_name: 'Crier',
    client_uri: publicUrl,
    redirect_uris: [`${publicUrl}${CALLBACK_PATH}`],
    scope: SCOPE,
    grant_types: ['authorization_code', 'refresh_token'],
    response_types: ['code'],
    application_type: 'web',
    token_endpoint_auth_method: 'private_key_jwt',
    token_endpoint_auth_signing_alg: 'ES256',
    dpop_bound_access_tokens: true,
    jwks_uri: `${publicUrl}${JWKS_PATH}`,
  }
}

/** The metadata that a server derives from the id of a client on loopback. */
function loopbackMetadata(publicUrl: string) {
  const callback = redirectUri(publicUrl)
  const query = new URLSearchParams({ redirect_uri: callback, scope: SCOPE })
  return {
    client_id: `http://localhost?${query.toString()}`,
    redirect_uris: [callback],
    scope: SCOPE,
    grant_types: ['authorization_code', 'refresh_token'],
    response_types: ['code'],
    application_type: 'native',
    token_endpoint_auth_method: 'none',
    dpop_bound_access_tokens: true,
  }
}

function publicKeyOf({ id, jwk: { crv, kty, x, y } }: ClientKey) {
  return { kty, crv, x, y, kid: id, alg: 'ES256', use: 'sig' }
}

/** The client of the library for one call. Its stores have what the caller passes. */
export async function clientOf(
  context: PlatformContext,
  guarded: GuardedFetch,
  { session, state }: { session?: Kept<NodeSavedSession>; state?: Kept<NodeSavedState> & { key?: string } },
): Promise<NodeOAuthClient> {
  const { keys, publicUrl, settings } = context
  const isPublic = isLoopback(publicUrl)
  const caches = cachesOf(settings)
  const library = await oauthLibrary()
  const metadata = (isPublic ? loopbackMetadata(publicUrl) : metadataOf(publicUrl)) as OAuthClientMetadataInput
  const keyset = isPublic ? [] : await Promise.all((await keys.list()).map((key) => keyOf(library, key)))
  return new library.NodeOAuthClient({
    clientMetadata: metadata,
    ...(!isPublic && { keyset }),
    fetch: guarded.fetch,
    // Servers without TLS exist on loopback only, where the operator has named one.
    allowHttp: settings.apiUrl.startsWith('http:'),
    plcDirectoryUrl: urlOf(settings, 'plc'),
    // The lease of the account is the lock.
    requestLock: async (_name, work) => work(),
    stateStore: {
      get: (key) => (state?.key === undefined || state.key === key ? state?.value : undefined),
      set: (key, value) => {
        if (state !== undefined) Object.assign(state, { key, value })
      },
      del: () => undefined,
    },
    sessionStore: {
      get: () => session?.value,
      set: (_did, value) => {
        if (session !== undefined) session.value = value
      },
      del: () => undefined,
    },
    identityResolver: {
      resolve: async (name) => {
        const { did, document, handle } = await identityOf(context, name)
        return { did, didDoc: document, handle: handle ?? 'handle.invalid' } as never
      },
    },
    ...caches,
  })
}

const keyCache = new WeakMap<object, Promise<JoseKey>>()

function keyOf(library: Awaited<ReturnType<typeof oauthLibrary>>, { id, jwk }: ClientKey): Promise<JoseKey> {
  let key = keyCache.get(jwk)
  if (key === undefined) {
    key = library.JoseKey.fromJWK({ ...jwk, alg: 'ES256', key_ops: ['sign'] }, id)
    keyCache.set(jwk, key)
  }
  return key
}

/** A cache in memory, for documents of servers and nonces. */
class Cache<V> {
  readonly #entries = new Map<string, { readonly value: V; readonly until: number }>()

  get(key: string): V | undefined {
    const entry = this.#entries.get(key)
    return entry === undefined || entry.until < performance.now() ? undefined : entry.value
  }

  set(key: string, value: V): void {
    this.#entries.delete(key)
    this.#entries.set(key, { value, until: performance.now() + 10 * MINUTE })
    const oldest = this.#entries.keys().next()
    if (this.#entries.size > 1_000 && oldest.done === false) this.#entries.delete(oldest.value)
  }

  del(key: string): void {
    this.#entries.delete(key)
  }
}

type ClientOptions = ConstructorParameters<typeof NodeOAuthClient>[0]
type CacheNames = 'authorizationServerMetadataCache' | 'protectedResourceMetadataCache' | 'dpopNonceCache'
type Caches = Required<Pick<ClientOptions, CacheNames>>

/** Shared by all calls with the same settings, which live as long as the server. */
const cachesBySettings = new WeakMap<PlatformSettings, Caches>()

function cachesOf(settings: PlatformSettings): Caches {
  let caches = cachesBySettings.get(settings)
  if (caches === undefined) {
    caches = {
      authorizationServerMetadataCache: new Cache(),
      protectedResourceMetadataCache: new Cache(),
      dpopNonceCache: new Cache(),
    }
    cachesBySettings.set(settings, caches)
  }
  return caches
}
