import type { NodeSavedSession, NodeSavedState } from '@atproto/oauth-client-node'
import { PlatformError } from '../error-kinds.ts'
import type { AccountContext, Credential, OAuthSupport, PlatformContext } from '../platform.ts'
import { refreshSession } from './app-password.ts'
import { identityOf } from './identity.ts'
import { clientOf, redirectUri, SCOPES, type Kept } from './oauth-client.ts'
import { guardedFetch } from './oauth-fetch.ts'
import { asPlatformError, sessionOf } from './oauth-session.ts'
import { profileOf } from './profile.ts'
import { serverOf, TITLE } from './servers.ts'

/** OAuth of the AT Protocol: PAR, PKCE, DPoP with nonces, and `private_key_jwt` (atproto.com/specs/oauth, 2026-11). */
export const oauth: OAuthSupport = {
  scopes: SCOPES,
  scopePurposes: { 'transition:generic': 'publish, upload images and videos, and read figures' },
  pkce: true,
  refreshStyle: 'single_use',
  dynamicApp: true,
  redirectUri,
  authorize: (context, { server }) =>
    asPlatformError(async () => {
      const state: Kept<NodeSavedState> & { key?: string } = { value: undefined }
      const client = await clientOf(context, guardedFetch(context), { state })
      const url = await client.authorize(await loginOf(context, server), { scope: SCOPES.join(' ') })
      return { url: url.href, state: state.key ?? '', secrets: { state: JSON.stringify(state.value) } }
    }),
  exchange: (context, { params, secrets }) =>
    asPlatformError(async () => {
      const session: Kept<NodeSavedSession> = { value: undefined }
      const state = { value: JSON.parse(secrets['state'] ?? '{}') as NodeSavedState }
      const client = await clientOf(context, guardedFetch(context), { session, state })
      await client.callback(new URLSearchParams(params))
      const credential = credentialOf(session.value)
      const profile = await profileOf({ ...context, credential, remoteId: '' })
      return { profile, credential, scopes: credential.scopes ?? null }
    }),
  refresh: (context) =>
    sessionOf(context) === undefined ? refreshSession(context) : asPlatformError(() => refresh(context)),
}

/** Ends the grant. @throws PlatformError when the server could not be reached */
export async function revoke(context: AccountContext): Promise<void> {
  const guarded = guardedFetch(context)
  await asPlatformError(async () => {
    const client = await clientOf(context, guarded, { session: { value: sessionOf(context) } })
    await client.revoke(didOf(context))
  })
  // The library ignores errors, so that it always forgets the session. Here the caller repeats the call.
  if (guarded.last.error instanceof PlatformError) throw guarded.last.error
}

async function refresh(context: AccountContext): Promise<Credential> {
  const session: Kept<NodeSavedSession> = { value: sessionOf(context) }
  const client = await clientOf(context, guardedFetch(context), { session })
  await client.restore(didOf(context), true)
  return credentialOf(session.value)
}

/** What the user entered: a handle, a DID, or a server to sign in at. */
async function loginOf(context: PlatformContext, text: string | undefined): Promise<string> {
  const { settings } = context
  if (text === undefined || text === '') return settings.authUrl
  if (/^https?:\/\//i.test(text)) return serverOf(settings, text).url
  try {
    return (await identityOf(context, text)).did
  } catch (error) {
    // The name of a server looks like a handle.
    if (error instanceof PlatformError && error.code === 'identity' && !text.startsWith('@') && text.includes('.')) {
      return serverOf(settings, text).url
    }
    throw error
  }
}

function credentialOf(session: NodeSavedSession | undefined): Credential {
  if (session === undefined) throw new PlatformError('unknown', TITLE, { detail: 'the sign-in has no session' })
  const { authMethod, tokenSet } = session
  const expiresAt = tokenSet.expires_at === undefined ? undefined : Date.parse(tokenSet.expires_at)
  const keyId = typeof authMethod === 'object' && 'kid' in authMethod ? authMethod.kid : undefined
  return {
    session: JSON.stringify(session),
    did: tokenSet.sub,
    server: new URL(tokenSet.aud).origin,
    scopes: tokenSet.scope.split(' '),
    ...(expiresAt !== undefined && { expiresAt }),
    ...(keyId !== undefined && { clientKeyId: keyId }),
  }
}

function didOf(context: AccountContext): string {
  return sessionOf(context)?.tokenSet.sub ?? context.remoteId
}
