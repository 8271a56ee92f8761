import { json, type Fake, type FakeOptions, type FakeReply, type FakeRequest, type SandboxPost } from '../fake.ts'
import { FakeOAuth, newOAuthState, SANDBOX_APP, type OAuthState, type TokenHolder } from '../oauth-server.ts'
import { FakeStorage, type FakeAsset } from './storage.ts'
import { judged, SUBREDDITS, type FakeKind, type FakeSubreddit, type FormError, type SubmitFields } from './submit.ts'

interface User {
  readonly id: string
  readonly name: string
  isSuspended: boolean
  /** Until when the account may not submit; milliseconds since the epoch. */
  cooldownUntil: number
}

interface Thing {
  /** With its kind: `t3_` for posts, `t1_` for comments. */
  readonly name: string
  readonly author: string
  readonly subreddit: string
  readonly title: string
  text: string
  readonly url: string | null
  readonly media: readonly string[]
  readonly parent: string | null
  readonly at: number
  /** How often lists do not show it yet. */
  pending: number
}

interface State {
  readonly oauth: OAuthState
  readonly users: Record<string, User>
  readonly assets: Record<string, FakeAsset>
  readonly things: Thing[]
  /** Codes of grants without `duration=permanent`. */
  readonly temporary: string[]
  window: { startedAt: number; used: number }
  next: number
}

const SCOPES = ['identity', 'submit', 'read', 'history', 'mysubreddits', 'flair', 'edit']
/** 100 calls a minute of a client, counted over ten minutes (support.reddithelp.com, Data API, 2026-11). */
const WINDOW_MS = 600_000
const WINDOW_CALLS = 1_000
const PENDING_READS = 2
const NEVER = 1_000_000
/** Libraries add their names to that of the client: `… (by /u/name) PRAW/8.0.3 prawcore/4.0.0`. */
const USER_AGENT = /^[\w.-]+:[\w.-]+:v?[\w.]+ \(.+?\)(?: [\w.-]+(?:\/[\w.+-]+)?)*$/
const FORBIDDEN = { message: 'Forbidden', error: 403 }

/**
 * The API of Reddit: OAuth with permanent grants, subreddits with requirements, media leases, submissions and comments
 * with errors inside of replies (reddit.com/dev/api, 2026-11).
 */
export function redditFake({ clock, state }: FakeOptions<State>): Fake<State> {
  const kept: State = state ?? {
    oauth: newOAuthState(),
    users: {},
    assets: {},
    things: [],
    temporary: [],
    window: { startedAt: 0, used: 0 },
    next: 46_656,
  }
  const nextId = () => (kept.next += 1).toString(36)
  const user = (name: string): User => {
    const known = Object.values(kept.users).find((one) => one.name === name)
    if (known !== undefined) return known
    const id = nextId()
    return (kept.users[id] = { id, name, isSuspended: false, cooldownUntil: 0 })
  }
  const oauthOptions = {
    title: 'Reddit',
    clock,
    state: kept.oauth,
    scopes: SCOPES,
    accountOf: (name: string) => user(name).id,
    clientAuth: 'basic',
    pkce: 'optional',
    accessLife: 3_600,
    errorBody: (error: string) =>
      error === 'invalid_client' ? { message: 'Unauthorized', error: 401 } : { message: 'Bad Request', error: 400 },
  } as const
  const permanent = new FakeOAuth({ ...oauthOptions, refresh: 'reusable' })
  const temporary = new FakeOAuth(oauthOptions)
  const storage = new FakeStorage(kept.assets, clock)

  const authorize = (request: FakeRequest): FakeReply => {
    const reply = permanent.authorize(request)
    const code = URL.parse(reply.headers?.['Location'] ?? '')?.searchParams.get('code')
    if (typeof code === 'string' && request.body['duration'] !== 'permanent') kept.temporary.push(code)
    return reply
  }

  const token = (request: FakeRequest): FakeReply => {
    const { code, grant_type: grant } = request.body
    const oauth = kept.temporary.includes(String(code)) ? temporary : permanent
    const reply = oauth.token(request)
    return grant === 'authorization_code' && reply.status === 400 ? json(200, { error: 'invalid_grant' }) : reply
  }

  const revoke = ({ body, headers }: FakeRequest): FakeReply => {
    const expected = `Basic ${Buffer.from(`${SANDBOX_APP.clientId}:${SANDBOX_APP.clientSecret}`).toString('base64')}`
    if (headers.authorization !== expected) return json(401, { message: 'Unauthorized', error: 401 })
    permanent.revoke(String(body['token']))
    return { status: 204 }
  }

  const subredditOf = (name: string): FakeSubreddit | undefined => {
    const known = SUBREDDITS.find((one) => one.name === name.toLowerCase())
    const owner = Object.values(kept.users).find((one) => `u_${one.name}`.toLowerCase() === name.toLowerCase())
    if (known !== undefined || owner === undefined) return known
    return { ...SUBREDDITS[0]!, name: `u_${owner.name}`, type: 'user' }
  }

  const submit = (request: FakeRequest, { account }: TokenHolder, fields: SubmitFields): FakeReply => {
    const author = kept.users[account]!
    const name = textOf(request.body['sr'])
    const subreddit = subredditOf(name)
    if (author.isSuspended) return json(403, { ...FORBIDDEN, reason: 'suspended' })
    if (name === '') return failed(['SUBREDDIT_REQUIRED', 'you must specify a subreddit', 'sr'])
    if (subreddit === undefined) return failed(['SUBREDDIT_NOEXIST', 'that subreddit doesn’t exist', 'sr'])
    if (subreddit.type === 'private' || (subreddit.type === 'user' && subreddit.name !== `u_${author.name}`)) {
      return failed(['SUBREDDIT_NOTALLOWED', 'you aren’t allowed to post there.', 'sr'])
    }
    const seconds = (author.cooldownUntil - clock.now()) / 1_000
    if (seconds > 0) {
      const wait = `Looks like you’ve been doing that a lot. Take a break for ${Math.ceil(seconds / 60)} minutes before trying again.`
      return failed(['RATELIMIT', wait, 'ratelimit'], { ratelimit: seconds })
    }
    const isKnown = kept.things.some(({ subreddit: sr, url }) => sr === subreddit.name && url === fields.url)
    if (fields.kind === 'link' && isKnown && request.body['resubmit'] !== 'true') {
      return failed(['ALREADY_SUB', 'that link has already been submitted', 'url'])
    }
    const verdict = judged(fields, subreddit, storage, account)
    if ('error' in verdict) return failed(verdict.error)
    const isAsync = fields.kind === 'image' || fields.kind === 'video'
    const thing: Thing = {
      name: `t3_${nextId()}`,
      author: account,
      subreddit: subreddit.name,
      title: fields.title,
      text: fields.text,
      url: fields.kind === 'link' ? fields.url : null,
      media: verdict.files.map(({ type }) => type),
      parent: null,
      at: clock.now(),
      // A file that Reddit cannot process never becomes a post.
      pending: verdict.files.some(({ isWrong }) => isWrong) ? NEVER : isAsync ? PENDING_READS : 0,
    }
    kept.things.push(thing)
    if (isAsync) {
      const page = `https://www.reddit.com/user/${author.name}/submitted/`
      return succeeded({ user_submitted_page: page, websocket_url: 'wss://ws.invalid/' })
    }
    const url = `https://www.reddit.com${permalink(thing)}`
    if (fields.kind === 'gallery') return succeeded({ url, id: thing.name })
    return succeeded({ url, drafts_count: 0, id: thing.name.slice(3), name: thing.name })
  }

  const comment = ({ body }: FakeRequest, { account }: TokenHolder): FakeReply => {
    const parent = kept.things.find(({ name }) => name === (body['thing_id'] ?? body['parent']))
    const text = textOf(body['text']).trim()
    if (parent === undefined) return failed(['DELETED_COMMENT', 'that comment has been deleted', 'parent'])
    if (text === '') return failed(['NO_TEXT', 'we need something here', 'text'])
    if (Array.from(text).length > 10_000) return failed(['TOO_LONG', 'this is too long (max: 10000)', 'text'])
    const { name, subreddit } = parent
    const thing: Thing = {
      name: `t1_${nextId()}`,
      author: account,
      subreddit,
      title: '',
      text,
      url: null,
      media: [],
      parent: name,
      at: clock.now(),
      pending: 0,
    }
    kept.things.push(thing)
    return succeeded({ things: [{ kind: 't1', data: view(thing) }] })
  }

  const edit = ({ body }: FakeRequest, { account }: TokenHolder): FakeReply => {
    const thing = kept.things.find(({ name }) => name === body['thing_id'])
    if (thing?.author !== account) return failed(['NOT_AUTHOR', 'you can’t do that', 'thing_id'])
    const text = textOf(body['text'])
    if (Array.from(text).length > 40_000) return failed(['TOO_LONG', 'this is too long (max: 40000)', 'text'])
    thing.text = text
    return succeeded({ things: [{ kind: thing.name.slice(0, 2), data: view(thing) }] })
  }

  const remove = ({ body }: FakeRequest, { account }: TokenHolder): FakeReply => {
    const index = kept.things.findIndex(({ author, name }) => name === body['id'] && author === account)
    if (index !== -1) kept.things.splice(index, 1)
    return json(200, {})
  }

  const permalink = ({ name, parent, subreddit }: Thing) =>
    `/r/${subreddit}/comments/${(parent ?? name).slice(3)}/_/${parent === null ? '' : `${name.slice(3)}/`}`

  const view = (thing: Thing) => ({
    id: thing.name.slice(3),
    name: thing.name,
    author: kept.users[thing.author]?.name,
    subreddit: thing.subreddit,
    permalink: permalink(thing),
    created_utc: Math.floor(thing.at / 1_000),
    score: 1,
    ...(thing.parent === null
      ? {
          title: thing.title,
          selftext: thing.text,
          num_comments: kept.things.filter(({ parent }) => parent === thing.name).length,
          num_crossposts: 0,
        }
      : { body: thing.text, parent_id: thing.parent }),
  })

  const listing = (things: readonly Thing[], query: URLSearchParams): FakeReply => {
    const size = Math.min(100, Number(query.get('limit') ?? 25))
    const children = things.slice(0, size).map((thing) => ({ kind: thing.name.slice(0, 2), data: view(thing) }))
    return json(200, { kind: 'Listing', data: { after: null, before: null, children } })
  }

  /** A post with its comments: two listings (reddit.com/dev/api, GET /comments/article, 2026-11). */
  const commentsOf = (query: URLSearchParams, id: string): FakeReply => {
    const post = kept.things.find(({ name }) => name === `t3_${id}`)
    if (post === undefined) return NOT_FOUND
    const below = kept.things.filter(({ parent }) => parent === post.name).toReversed()
    const [one, comments] = [listing([post], query), listing(below, query)]
    return json(200, [one.body, comments.body])
  }

  const ofUser = ({ query }: FakeRequest, name: string, what: string): FakeReply => {
    const owner = Object.values(kept.users).find((one) => one.name === name)
    if (owner === undefined) return json(404, { message: 'Not Found', error: 404 })
    const own = kept.things.filter(
      ({ author, parent }) => author === owner.id && (parent === null) === (what === 'submitted'),
    )
    for (const thing of own) if (thing.pending > 0) thing.pending -= 1
    return listing(own.filter(({ pending }) => pending === 0).toReversed(), query)
  }

  const subscriptions = ({ query }: FakeRequest): FakeReply => {
    // Two in a page, so that clients have to ask for the next one.
    const start = SUBREDDITS.findIndex(({ name }) => name === query.get('after')) + 1
    const page = SUBREDDITS.slice(start, start + 2)
    const children = page.map(({ name, type }) => ({
      kind: 't5',
      data: { display_name: name, title: name, url: `/r/${name}/`, subreddit_type: type, user_is_banned: false },
    }))
    const after = start + 2 < SUBREDDITS.length ? (page.at(-1)?.name ?? null) : null
    return json(200, { kind: 'Listing', data: { after, children } })
  }

  const ofSubreddit = (path: string): FakeReply | undefined => {
    const [, name = '', what] =
      /^\/api\/v1\/(\w+)\/(post_requirements)$/.exec(path) ?? /^\/r\/(\w+)\/api\/(link_flair_v2)$/.exec(path) ?? []
    if (what === undefined) return undefined
    const subreddit = subredditOf(name)
    if (subreddit === undefined) return json(404, { message: 'Not Found', error: 404 })
    if (subreddit.type === 'private') return json(403, { ...FORBIDDEN, reason: 'private' })
    if (what === 'post_requirements') return json(200, { is_flair_required: false, ...subreddit.requirements })
    return json(200, subreddit.flairs)
  }

  const asUser = (request: FakeRequest, holder: TokenHolder): FakeReply => {
    const { method, path, query } = request
    if (!holder.scopes.includes(scopeOf(path))) {
      return json(403, FORBIDDEN, { 'WWW-Authenticate': 'Bearer realm="reddit", error="insufficient_scope"' })
    }
    if (method === 'GET') {
      if (path === '/api/v1/me') return json(200, meOf(request.base, kept.users[holder.account]!))
      if (path === '/subreddits/mine/subscriber') return subscriptions(request)
      if (path === '/api/info') {
        return listing(
          kept.things.filter(({ name }) => name === query.get('id')),
          query,
        )
      }
      const [, article] = /^\/comments\/(\w+)$/.exec(path) ?? []
      if (article !== undefined) return commentsOf(query, article)
      const [, name = '', what] = /^\/user\/([\w-]+)\/(submitted|comments)$/.exec(path) ?? []
      const owner = name === 'me' ? (kept.users[holder.account]?.name ?? '') : name
      return what === undefined ? (ofSubreddit(path) ?? NOT_FOUND) : ofUser(request, owner, what)
    }
    switch (path) {
      case '/api/media/asset.json':
        return storage.lease(request, holder.account)
      case '/api/submit':
      case '/api/submit_gallery_post.json':
        return submit(request, holder, fieldsOf(request))
      case '/api/comment':
        return comment(request, holder)
      case '/api/editusertext':
        return edit(request, holder)
      case '/api/del':
        return remove(request, holder)
      default:
        return NOT_FOUND
    }
  }

  const counted = (answer: () => FakeReply): FakeReply => {
    const now = clock.now()
    if (now - kept.window.startedAt >= WINDOW_MS) kept.window = { startedAt: now, used: 0 }
    const isOver = kept.window.used >= WINDOW_CALLS
    if (!isOver) kept.window.used += 1
    const reply = isOver ? json(429, { message: 'Too Many Requests', error: 429 }) : answer()
    const headers = {
      'x-ratelimit-used': String(kept.window.used),
      'x-ratelimit-remaining': (WINDOW_CALLS - kept.window.used).toFixed(1),
      'x-ratelimit-reset': String(Math.ceil((kept.window.startedAt + WINDOW_MS - now) / 1_000)),
    }
    return { ...reply, headers: { ...reply.headers, ...headers } }
  }

  return {
    state: kept,
    handle: (incoming) => {
      // Reddit takes paths with and without a slash at the end.
      const request = { ...incoming, path: incoming.path.replace(/(?<=.)\/$/, '') }
      const { headers, method, path } = request
      if (path === '/api/v1/authorize') return authorize(request)
      if (method === 'POST' && path === '/storage') return storage.store(request)
      if (!USER_AGENT.test(headers['user-agent'] ?? '')) return json(429, { message: 'Too Many Requests', error: 429 })
      if (method === 'POST' && path === '/api/v1/access_token') return token(request)
      if (method === 'POST' && path === '/api/v1/revoke_token') return revoke(request)
      const holder = permanent.holder(request)
      if (holder === undefined) return json(401, { message: 'Unauthorized', error: 401 })
      return counted(() => asUser(request, holder))
    },
    newAccount: () => {
      const { id, name } = user(`sandbox_${nextId()}`)
      return { ...permanent.grant(id), username: name }
    },
    posts: () =>
      kept.things
        .filter(({ pending }) => pending === 0)
        .map(({ at, author, media, name, parent, subreddit, text, title, url }): SandboxPost => ({
          id: name,
          account: kept.users[author]?.name ?? author,
          text: [parent === null ? `r/${subreddit}: ${title}` : '', text, url ?? ''].filter(Boolean).join('\n'),
          media,
          replyTo: parent,
          publishedAt: new Date(at).toISOString(),
        })),
  }
}

const NOT_FOUND = json(404, { message: 'Not Found', error: 404 })

function scopeOf(path: string): string {
  if (path === '/api/v1/me') return 'identity'
  if (path.startsWith('/subreddits/mine')) return 'mysubreddits'
  if (path.startsWith('/user/')) return 'history'
  if (path.endsWith('link_flair_v2')) return 'flair'
  if (path === '/api/editusertext' || path === '/api/del') return 'edit'
  return path === '/api/info' || path.startsWith('/comments/') || path.endsWith('post_requirements') ? 'read' : 'submit'
}

function fieldsOf({ body, path }: FakeRequest): SubmitFields {
  return {
    kind: path.includes('gallery') ? 'gallery' : (textOf(body['kind']) as FakeKind),
    title: textOf(body['title']).trim(),
    text: textOf(body['text']),
    url: textOf(body['url']),
    flairId: body['flair_id'] === undefined ? undefined : textOf(body['flair_id']),
    poster: textOf(body['video_poster_url']),
    items: (body['items'] as SubmitFields['items'] | undefined) ?? [],
  }
}

function meOf(base: string, { id, isSuspended, name }: User) {
  return {
    id,
    name,
    icon_img: `${base}/avatars/${id}.png?width=256`,
    is_suspended: isSuspended,
    has_verified_email: true,
    total_karma: 1,
    created_utc: 1_700_000_000,
  }
}

function succeeded(data: unknown): FakeReply {
  return json(200, { json: { errors: [], data } })
}

/** Errors of forms come with status 200. */
function failed(error: FormError, more: object = {}): FakeReply {
  return json(200, { json: { errors: [error], ...more } })
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : ''
}
