import {
  bearerOf,
  countCall,
  graphError,
  invalidToken,
  issueToken,
  paramsOf,
  pick,
  tokenErrorBody,
  tokenReply,
  versionedPath,
} from '../meta/graph.ts'
import { json, type Fake, type FakeOptions, type FakeReply, type FakeRequest } from '../fake.ts'
import { FakeOAuth, SANDBOX_APP, type TokenHolder } from '../oauth-server.ts'
import { newState, type FakeProfile, type State } from './state.ts'
import { FakeThreadsApi } from './threads.ts'

const PERMISSIONS = [
  'threads_basic',
  'threads_content_publish',
  'threads_manage_replies',
  'threads_read_replies',
  'threads_manage_insights',
  'threads_delete',
]
/** Seconds. */
const SHORT_LIFE = 3_600
const LONG_LIFE = 5_184_000
const MIN_AGE_MS = 86_400_000

/** The Threads API: tokens, containers, posts, replies and quotas (developers.facebook.com, 2026-11). */
export function threadsFake({ clock, state }: FakeOptions<State>): Fake<State> {
  const kept = state ?? newState()
  const nextId = () => String((kept.next += 1))

  const profileOf = (username: string): FakeProfile => {
    const known = Object.values(kept.profiles).find((profile) => profile.username === username)
    if (known !== undefined) return known
    const id = nextId()
    return (kept.profiles[id] = { id, username, deletions: [] })
  }

  const oauth = new FakeOAuth({
    title: 'Threads',
    clock,
    state: kept.oauth,
    scopes: PERMISSIONS,
    accountOf: (name) => profileOf(name).id,
    scopeSeparator: ',',
    clientAuth: 'body',
    pkce: 'optional',
    accessLife: SHORT_LIFE,
    errorBody: tokenErrorBody,
  })
  const api = new FakeThreadsApi({ clock, state: kept, nextId })

  const shortToken = (request: FakeRequest): FakeReply => {
    const reply = oauth.token(request)
    if (reply.status !== 200) return tokenReply(reply)
    const token = (reply.body as { access_token: string }).access_token
    return json(200, { access_token: token, user_id: Number(kept.oauth.tokens[token]?.account) })
  }

  const longToken = ({ path, query }: FakeRequest): FakeReply => {
    const old = query.get('access_token') ?? ''
    const isExchange = path === '/access_token'
    if (query.get('grant_type') !== (isExchange ? 'th_exchange_token' : 'th_refresh_token')) {
      return graphError(100, 'Invalid grant type')
    }
    if (isExchange && query.get('client_secret') !== SANDBOX_APP.clientSecret) {
      return graphError(1, 'Error validating client secret.')
    }
    const holder = oauth.holder({ headers: {} }, old)
    if (holder === undefined) return invalidToken(old in kept.oauth.tokens)
    const until = kept.oauth.tokens[old]?.expiresAt ?? 0
    if (!isExchange && clock.now() - (until - LONG_LIFE * 1_000) < MIN_AGE_MS) {
      return graphError(100, 'The token is less than 24 hours old')
    }
    return json(200, {
      access_token: issueToken(kept.oauth, holder, clock.now(), LONG_LIFE),
      token_type: 'bearer',
      expires_in: LONG_LIFE,
    })
  }

  const debugToken = (input: string): FakeReply => {
    const holder = oauth.holder({ headers: {} }, input)
    if (holder === undefined) return json(200, { data: { is_valid: false } })
    const until = Math.floor((kept.oauth.tokens[input]?.expiresAt ?? 0) / 1_000)
    return json(200, {
      data: {
        type: 'USER',
        application: 'Crier',
        data_access_expires_at: until,
        expires_at: until,
        is_valid: true,
        issued_at: until - LONG_LIFE,
        scopes: holder.scopes,
        user_id: holder.account,
      },
    })
  }

  const graph = (request: FakeRequest, path: string, holder: TokenHolder): FakeReply => {
    const profile = kept.profiles[holder.account]!
    const { id, username } = profile
    if (path === 'debug_token') return debugToken(request.query.get('input_token') ?? '')
    if (!holder.scopes.includes('threads_basic')) {
      return graphError(10, 'Application does not have permission for this action', { status: 403 })
    }
    if (request.method === 'GET' && (path === 'me' || path === id)) {
      const picture = `${request.base}/pictures/${id}.jpg`
      const view = { id, username, name: username, threads_profile_picture_url: picture, threads_biography: '' }
      return json(200, pick(view, paramsOf(request)['fields']))
    }
    return api.handle(request, path.replace(/^me\//, `${id}/`), holder, profile)
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
      const { id } = profileOf(`sandbox_${nextId()}`)
      const holder = { app: SANDBOX_APP.clientId, account: id, scopes: PERMISSIONS }
      const accessToken = issueToken(kept.oauth, holder, clock.now(), LONG_LIFE)
      return { accessToken, expiresAt: clock.now() + LONG_LIFE * 1_000, issuedAt: clock.now(), scopes: PERMISSIONS }
    },
    posts: () => api.posts(),
  }
}
