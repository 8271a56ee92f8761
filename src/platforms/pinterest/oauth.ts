import { PlatformError } from '../error-kinds.ts'
import { authorizeUrl, refreshToken, requestToken, type OAuthClient } from '../oauth2.ts'
import type { AccountContext, OAuthSupport, PlatformContext, Profile } from '../platform.ts'
import { call, TITLE } from './api.ts'

const SCOPES = ['user_accounts:read', 'boards:read', 'boards:write', 'pins:read', 'pins:write'] as const

/**
 * OAuth of Pinterest: HTTP Basic, access for 30 days, and a refresh token of 60 days that each refresh replaces
 * (developers.pinterest.com, Set up authentication and authorization, as other vendors quote it, 2026-11).
 */
export const oauth: OAuthSupport = {
  scopes: SCOPES,
  scopePurposes: {
    'boards:read': 'list boards, and check whether a Pin was published',
    'boards:write': 'create boards and publish to them',
    'pins:read': 'read figures of Pins',
    'pins:write': 'publish, edit and delete Pins',
  },
  pkce: false,
  refreshStyle: 'single_use',
  authorize: (context, request) => Promise.resolve({ url: authorizeUrl(clientOf(context), request), secrets: {} }),
  exchange: async (context, { code, redirectUri }) => {
    const { clock, http, signal } = context
    // Apps from before September 2025 get a token that can be refreshed for ever only when they ask for it.
    const grant = { grant_type: 'authorization_code', code, redirect_uri: redirectUri, continuous_refresh: 'true' }
    const token = { http, now: clock.now(), signal, title: TITLE }
    const credential = await ofApp(requestToken(clientOf(context), grant, token))
    const profile = await profileOf({ ...context, credential, remoteId: '' })
    return { profile, credential, scopes: credential.scopes ?? null }
  },
  refresh: (context) => ofApp(refreshToken(clientOf(context), context, TITLE)),
}

/** At the token endpoint, code 2 is about the app: it means a wrong id or secret. */
async function ofApp<T>(reply: Promise<T>): Promise<T> {
  try {
    return await reply
  } catch (error) {
    if (!(error instanceof PlatformError) || error.code !== '2') throw error
    const { code, detail, httpStatus } = error
    throw new PlatformError('app_misconfigured', TITLE, { code, detail, httpStatus, cause: error })
  }
}

interface Account {
  readonly id?: string
  readonly username: string
  readonly account_type?: string
  readonly business_name?: string | null
  readonly profile_image?: string
}

/** The account that a token belongs to. @throws PlatformError */
export async function profileOf(context: AccountContext): Promise<Profile> {
  const account = (await call(context, '/user_account')) as Account
  const { account_type: type, business_name: business, id, profile_image: avatarUrl = null, username } = account
  return {
    remoteId: id ?? username,
    name: business ?? username,
    handle: username,
    avatarUrl,
    url: `https://www.pinterest.com/${username}/`,
    kind: type === 'BUSINESS' ? 'business' : 'person',
  }
}

function clientOf({ settings }: PlatformContext): OAuthClient {
  const { apiUrl, authUrl, clientId = '', clientSecret = '' } = settings
  return {
    clientId,
    clientSecret,
    authorizeUrl: `${authUrl}/oauth/`,
    tokenUrl: `${apiUrl}/v5/oauth/token`,
    scopes: SCOPES,
    quirks: { scopeSeparator: ',', clientAuth: 'basic', pkce: false },
  }
}
