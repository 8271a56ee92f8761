import {
  bearerOf,
  countCall,
  graphError,
  invalidToken,
  issueToken,
  listPage,
  paramsOf,
  pick,
  proofError,
  tokenErrorBody,
  tokenReply,
  versionedPath,
} from '../meta/graph.ts'
import { json, type Fake, type FakeOptions, type FakeReply, type FakeRequest, type SandboxPost } from '../fake.ts'
import { FakeOAuth, SANDBOX_APP, type TokenHolder } from '../oauth-server.ts'
import { FakeContent } from './content.ts'
import { newState, type FakePage, type FakeUser, type State } from './state.ts'

const PERMISSIONS = [
  'public_profile',
  'email',
  'pages_show_list',
  'pages_read_engagement',
  'pages_manage_posts',
  'pages_manage_engagement',
  'business_management',
]
const ALL_TASKS = ['ADVERTISE', 'ANALYZE', 'CREATE_CONTENT', 'MESSAGING', 'MODERATE', 'MANAGE']
/** Seconds. */
const SHORT_LIFE = 5_400
const LONG_LIFE = 5_184_000
const DATA_ACCESS = 7_776_000

/**
 * The Graph API of Facebook v24.0: Facebook Login, long-lived tokens, permissions, pages with tasks, and their posts,
 * photos, reels and comments (developers.facebook.com, 2026-11). A user has two pages, and analyzes a third.
 */
export function facebookFake({ clock, state }: FakeOptions<State>): Fake<State> {
  const kept = { ...newState(), ...state }
  const nextId = () => String((kept.next += 1))
  const seconds = (milliseconds: number) => Math.floor(milliseconds / 1_000)

  const userOf = (name: string): FakeUser => {
    const known = Object.values(kept.users).find((user) => user.name === name)
    if (known !== undefined) return known
    const user: FakeUser = { id: nextId(), name, permissions: {} }
    kept.users[user.id] = user
    for (const [title, tasks] of [
      ['Bakery', ALL_TASKS],
      ['Club', ['ANALYZE', 'CREATE_CONTENT']],
      ['Employer', ['ANALYZE']],
    ] as const) {
      const id = nextId()
      kept.pages[id] = { id, name: `${title} of ${name}`, username: `${title}.${id}`, user: user.id, tasks }
    }
    return user
  }

  const oauth = new FakeOAuth({
    title: 'Facebook',
    clock,
    state: kept.oauth,
    scopes: PERMISSIONS,
    accountOf: (name) => userOf(name).id,
    scopeSeparator: ',',
    clientAuth: 'body',
    pkce: 'optional',
    accessLife: SHORT_LIFE,
    errorBody: tokenErrorBody,
  })
  const content = new FakeContent({ clock, state: kept, nextId })

  /** The dialog records declined permissions, which `me/permissions` shows. */
  const authorize = (request: FakeRequest): FakeReply => {
    const reply = oauth.authorize(request)
    const { body, method } = request as FakeRequest & { body: Record<string, string> }
    if (method === 'POST' && body['decision'] === 'allow' && reply.status === 302) {
      const user = userOf(body['account'] ?? 'sandbox')
      for (const scope of (body['scope'] ?? '').split(',').filter(Boolean)) {
        user.permissions[scope] = body[`without ${scope}`] === undefined ? 'granted' : 'declined'
      }
    }
    return reply
  }

  const token = (request: FakeRequest): FakeReply => {
    const params = paramsOf(request)
    if (params['grant_type'] !== 'fb_exchange_token') return tokenReply(oauth.token({ ...request, body: params }))
    if (params['client_id'] !== SANDBOX_APP.clientId || params['client_secret'] !== SANDBOX_APP.clientSecret) {
      return graphError(1, 'Error validating client secret.')
    }
    const old = params['fb_exchange_token'] ?? ''
    const holder = oauth.holder({ headers: {} }, old)
    if (holder === undefined) return invalidToken(old in kept.oauth.tokens)
    return json(200, {
      access_token: issueToken(kept.oauth, holder, clock.now(), LONG_LIFE),
      token_type: 'bearer',
      expires_in: LONG_LIFE,
    })
  }

  /** The token of a page: without expiry if the user's token is long-lived. */
  const pageToken = (page: FakePage, holder: TokenHolder, userToken: string): string => {
    const until = kept.oauth.tokens[userToken]?.expiresAt ?? null
    const isLong = until === null || until - clock.now() > SHORT_LIFE * 1_000
    const known = Object.entries(kept.pageTokens).find(([text, id]) => {
      const stored = kept.oauth.tokens[text]
      return id === page.id && stored !== undefined && (stored.expiresAt === null) === isLong
    })
    if (known !== undefined) return known[0]
    const text = issueToken(kept.oauth, holder, clock.now(), isLong ? null : SHORT_LIFE)
    kept.pageTokens[text] = page.id
    return text
  }

  const debugToken = (request: FakeRequest): FakeReply => {
    if (bearerOf(request) !== `${SANDBOX_APP.clientId}|${SANDBOX_APP.clientSecret}`) return invalidToken(false)
    const input = request.query.get('input_token') ?? ''
    const holder = oauth.holder({ headers: {} }, input)
    if (holder === undefined) return json(200, { data: { is_valid: false, scopes: [] } })
    const until = kept.oauth.tokens[input]?.expiresAt ?? null
    return json(200, {
      data: {
        app_id: holder.app,
        type: input in kept.pageTokens ? 'PAGE' : 'USER',
        application: 'Crier',
        data_access_expires_at: seconds(clock.now()) + DATA_ACCESS,
        expires_at: until === null ? 0 : seconds(until),
        is_valid: true,
        scopes: holder.scopes,
        user_id: holder.account,
      },
    })
  }

  const asUser = (request: FakeRequest, path: string, holder: TokenHolder): FakeReply => {
    const user = kept.users[holder.account]!
    const params = paramsOf(request)
    const picture = { data: { url: `${request.base}/pictures/${user.id}.jpg` } }
    if (path === 'me' || path === user.id)
      return json(200, pick({ id: user.id, name: user.name, picture }, params['fields']))
    if (path === 'me/permissions' && request.method === 'DELETE') {
      oauth.end(holder)
      user.permissions = {}
      return json(200, { success: true })
    }
    if (path === 'me/permissions') {
      const data = Object.entries(user.permissions).map(([permission, status]) => ({ permission, status }))
      return json(200, { data })
    }
    if (path === 'me/accounts') {
      if (!holder.scopes.includes('pages_show_list')) return json(200, { data: [] })
      const views = Object.values(kept.pages)
        .filter((page) => page.user === user.id)
        .map((page) => ({
          ...pageView(request.base, page),
          tasks: page.tasks,
          access_token: pageToken(page, holder, bearerOf(request)),
        }))
      return listPage(views, params)
    }
    return content.handle(request, path, holder, undefined)
  }

  const graph = (request: FakeRequest, path: string): FakeReply => {
    const text = bearerOf(request)
    const holder = oauth.holder({ headers: {} }, text)
    if (holder === undefined) return invalidToken(text in kept.oauth.tokens)
    const unproven = proofError(text, request.query.get('appsecret_proof') ?? undefined)
    if (unproven !== undefined) return unproven
    const page = kept.pages[kept.pageTokens[text] ?? '']
    if (page === undefined) return asUser(request, path, holder)
    const isPage = path === 'me' || path === page.id
    if (isPage && request.method === 'GET') {
      return json(200, pick(pageView(request.base, page), request.query.get('fields') ?? undefined))
    }
    return content.handle(request, path.replace(/^me\//, `${page.id}/`), holder, page)
  }

  return {
    state: kept,
    handle: (request) => {
      const path = versionedPath(request.path)?.join('/')
      if (path === 'dialog/oauth') return authorize(request)
      if (path === 'oauth/access_token') return token(request)
      if (request.path.startsWith('/video-upload/')) {
        const holder = oauth.holder({ headers: {} }, bearerOf(request))
        return holder === undefined ? invalidToken(false) : content.receive(request)
      }
      if (path === undefined) return graphError(2_500, 'Unknown path components', { status: 404 })
      if (path === 'debug_token') return debugToken(request)
      const { headers, refused } = countCall(kept.usage, clock)
      const reply = refused ?? graph(request, path)
      return { ...reply, headers: { ...reply.headers, ...headers } }
    },
    newAccount: () => {
      const user = userOf(`Sandbox ${nextId()}`)
      for (const scope of PERMISSIONS) user.permissions[scope] = 'granted'
      const page = Object.values(kept.pages).find((one) => one.user === user.id)!
      const holder = { app: SANDBOX_APP.clientId, account: user.id, scopes: PERMISSIONS }
      const accessToken = issueToken(kept.oauth, holder, clock.now(), null)
      kept.pageTokens[accessToken] = page.id
      return { accessToken, scopes: PERMISSIONS, page: page.id }
    },
    posts: (): SandboxPost[] => content.posts(),
  }
}

function pageView(base: string, { followers = 0, id, name, username }: FakePage) {
  return {
    id,
    name,
    username,
    link: `${base}/${username}`,
    picture: { data: { url: `${base}/pictures/${id}.jpg` } },
    followers_count: followers,
  }
}
