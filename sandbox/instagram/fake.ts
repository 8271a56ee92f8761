import {
  bearerOf,
  countCall,
  graphError,
  invalidToken,
  issueToken,
  paramsOf,
  pick,
  versionedPath,
} from '../meta/graph.ts'
import { json, type Fake, type FakeOptions, type FakeReply, type FakeRequest } from '../fake.ts'
import { FakeOAuth, SANDBOX_APP, type TokenHolder } from '../oauth-server.ts'
import { FakeMediaApi } from './media.ts'
import { newState, type FakeAccount, type State } from './state.ts'

const PERMISSIONS = [
  'instagram_business_basic',
  'instagram_business_content_publish',
  'instagram_business_manage_comments',
  'instagram_business_manage_insights',
  'instagram_business_manage_messages',
]
/** Seconds. */
const SHORT_LIFE = 3_600
const LONG_LIFE = 5_184_000
const MIN_AGE_MS = 86_400_000

/**
 * The Instagram API with Instagram Login: tokens, containers, media, comments and the quota of posts
 * (developers.facebook.com, 2026-11). An account whose name contains `personal` is not professional.
 */
export function instagramFake({ clock, state }: FakeOptions<State>): Fake<State> {
  const kept = state ?? newState()
  const nextId = () => String((kept.next += 1))

  const accountOf = (username: string): FakeAccount => {
    const known = Object.values(kept.accounts).find((account) => account.username === username)
    if (known !== undefined) return known
    const type = username.includes('personal')
      ? 'PERSONAL'
      : username.includes('creator')
        ? 'MEDIA_CREATOR'
        : 'BUSINESS'
    const account: FakeAccount = { id: nextId(), username, type }
    return (kept.accounts[account.id] = account)
  }

  const oauth = new FakeOAuth({
    title: 'Instagram',
    clock,
    state: kept.oauth,
    scopes: PERMISSIONS,
    accountOf: (name) => accountOf(name).id,
    scopeSeparator: ',',
    clientAuth: 'body',
    pkce: 'optional',
    accessLife: SHORT_LIFE,
    errorBody: (error) => ({
      error_type: 'OAuthException',
      code: 400,
      error_message: error === 'invalid_client' ? 'Invalid platform app' : 'Invalid authorization code',
    }),
  })
  const mediaApi = new FakeMediaApi({ clock, state: kept, nextId })

  /** `api.instagram.com/oauth/access_token`. */
  const shortToken = (request: FakeRequest): FakeReply => {
    const { body, status } = oauth.token(request)
    if (status !== 200) return json(400, body)
    const token = (body as { access_token: string }).access_token
    const holder = oauth.holder({ headers: {} }, token)!
    return json(200, { access_token: token, user_id: Number(holder.account), permissions: holder.scopes })
  }

  const longToken = ({ path, query }: FakeRequest): FakeReply => {
    const old = query.get('access_token') ?? ''
    const isExchange = path === '/access_token'
    if (query.get('grant_type') !== (isExchange ? 'ig_exchange_token' : 'ig_refresh_token')) {
      return graphError(100, 'Invalid grant type')
    }
    if (isExchange && query.get('client_secret') !== SANDBOX_APP.clientSecret) {
      return graphError(1, 'Error validating client secret.')
    }
    const holder = oauth.holder({ headers: {} }, old)
    if (holder === undefined) return invalidToken(old in kept.oauth.tokens)
    const until = kept.oauth.tokens[old]?.expiresAt ?? 0
    const age = clock.now() - (until - LONG_LIFE * 1_000)
    if (!isExchange && age < MIN_AGE_MS) return graphError(100, 'The token is less than 24 hours old')
    if (!isExchange && !holder.scopes.includes('instagram_business_basic')) return graphError(10, 'Permission denied')
    return json(200, {
      access_token: issueToken(kept.oauth, holder, clock.now(), LONG_LIFE),
      token_type: 'bearer',
      expires_in: LONG_LIFE,
      ...(!isExchange && { permissions: holder.scopes.join(',') }),
    })
  }

  const graph = (request: FakeRequest, path: string, holder: TokenHolder): FakeReply => {
    const account = kept.accounts[holder.account]!
    if (!holder.scopes.includes('instagram_business_basic')) {
      return graphError(10, '(#10) Application does not have permission for this action', { status: 403 })
    }
    const { id, type, username } = account
    if (request.method === 'GET' && (path === 'me' || path === id)) {
      const view = {
        id: `9${id}`,
        user_id: id,
        username,
        name: username,
        account_type: type,
        profile_picture_url: `${request.base}/pictures/${id}.jpg`,
        followers_count: account.followers ?? 0,
        follows_count: 0,
        media_count: kept.media.filter((media) => media.account === id).length,
      }
      return json(200, pick(view, paramsOf(request)['fields']))
    }
    return mediaApi.handle(request, path.replace(/^me\//, `${id}/`), holder, account)
  }

  return {
    state: kept,
    handle: (request) => {
      if (request.path === '/oauth/authorize') return oauth.authorize(request)
      if (request.method === 'POST' && request.path === '/oauth/access_token') return shortToken(request)
      if (request.path === '/access_token' || request.path === '/refresh_access_token') {
        return request.method === 'GET'
          ? longToken(request)
          : graphError(100, 'Unsupported request - method type: post')
      }
      const path = versionedPath(request.path)?.join('/')
      if (path === undefined) return graphError(2_500, 'Unknown path components', { status: 404 })
      const token = bearerOf(request)
      const holder = oauth.holder({ headers: {} }, token)
      if (holder === undefined) return invalidToken(token in kept.oauth.tokens)
      const { headers, refused } = countCall(kept.usage, clock)
      const reply = refused ?? graph(request, path, holder)
      return { ...reply, headers: { ...reply.headers, ...headers } }
    },
    newAccount: () => {
      const { id } = accountOf(`sandbox_${nextId()}`)
      const holder = { app: SANDBOX_APP.clientId, account: id, scopes: PERMISSIONS }
      const accessToken = issueToken(kept.oauth, holder, clock.now(), LONG_LIFE)
      return { accessToken, expiresAt: clock.now() + LONG_LIFE * 1_000, issuedAt: clock.now(), scopes: PERMISSIONS }
    },
    posts: () => mediaApi.posts(),
  }
}
