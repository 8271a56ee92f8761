import { authorizeUrl, requestToken, type OAuthClient } from '../oauth2.ts'
import type { AppRegistrations, AuthorizeRequest, OAuthSupport, PlatformContext } from '../platform.ts'
import { profileOf } from './profile.ts'
import { serverOf, type MastodonServer } from './server.ts'

const SCOPES = ['profile', 'read:accounts', 'read:statuses', 'write:statuses', 'write:media'] as const
/** Servers before 4.3 do not support the scope `profile`. */
const OLDER_SCOPES = SCOPES.filter((scope) => scope !== 'profile')

/** The server's OAuth metadata (RFC 8414). Servers before 4.3 have no such document. */
interface ServerMetadata {
  readonly code_challenge_methods_supported?: readonly string[]
  readonly scopes_supported?: readonly string[]
}

/** OAuth of Mastodon: each server has its own app, which Crier registers on first use (docs.joinmastodon.org, 2026-11). */
export const oauth: OAuthSupport = {
  scopes: SCOPES,
  scopePurposes: {
    'write:statuses': 'publish',
    'write:media': 'attach images and videos',
    'read:statuses': 'check whether a post was published, and read its figures',
  },
  pkce: true,
  refreshStyle: 'none',
  dynamicApp: true,
  authorize: async (context, request) => {
    const server = serverOf(context, request.server ?? context.settings.apiUrl)
    const client = await clientOf(context, server, request.redirectUri)
    return {
      url: authorizeUrl(client, request),
      secrets: { server: server.url, pkce: client.quirks.pkce ? '1' : '', scopes: client.scopes.join(' ') },
    }
  },
  exchange: async (context, { code, codeVerifier, redirectUri, secrets }) => {
    const server = serverOf(context, secrets['server'] ?? '')
    const client = await clientOf(context, server, redirectUri)
    const grant = {
      grant_type: 'authorization_code',
      code,
      redirect_uri: redirectUri,
      ...(secrets['pkce'] === '1' && { code_verifier: codeVerifier }),
    }
    const { clock, http, signal } = context
    const token = await requestToken(client, grant, { http, now: clock.now(), signal, title: 'Mastodon' })
    const credential = { ...token, server: server.url, redirectUri }
    return { profile: await profileOf(context, credential), credential, scopes: token.scopes ?? client.scopes }
  },
}

/** The app at a server, registered if this is the first account there. */
export async function appOf(
  context: Pick<PlatformContext, 'http' | 'settings' | 'signal'> & { readonly apps: AppRegistrations },
  { url, userHost }: MastodonServer,
  redirectUri: string,
  scopes: readonly string[] = OLDER_SCOPES,
) {
  const known = await context.apps.find(url, redirectUri)
  if (known !== undefined) return known
  const { json } = await context.http.send({
    method: 'POST',
    url: `${url}/api/v1/apps`,
    json: { client_name: 'Crier', redirect_uris: redirectUri, scopes: scopes.join(' ') },
    userHost,
    signal: context.signal,
  })
  const { client_id: clientId = '', client_secret: clientSecret = '' } = json as Record<string, string | undefined>
  return context.apps.add(url, redirectUri, { clientId, clientSecret })
}

async function clientOf(
  context: PlatformContext,
  server: MastodonServer,
  redirectUri: AuthorizeRequest['redirectUri'],
): Promise<OAuthClient> {
  const { code_challenge_methods_supported: methods = [], scopes_supported: supported = [] } = await metadataOf(
    context,
    server,
  )
  const scopes = supported.includes('profile') ? SCOPES : OLDER_SCOPES
  const app = await appOf(context, server, redirectUri, scopes)
  return {
    ...app,
    authorizeUrl: `${server.url}/oauth/authorize`,
    tokenUrl: `${server.url}/oauth/token`,
    scopes,
    quirks: { clientAuth: 'body', pkce: methods.includes('S256') },
    userHost: server.userHost,
  }
}

async function metadataOf(
  { http, signal }: PlatformContext,
  { url, userHost }: MastodonServer,
): Promise<ServerMetadata> {
  const path = '/.well-known/oauth-authorization-server'
  const reply = await http.send({ url: `${url}${path}`, userHost, signal, expect: [404] })
  return reply.status === 200 && typeof reply.json === 'object' ? (reply.json as ServerMetadata) : {}
}
