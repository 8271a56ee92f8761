import twitterText from 'twitter-text'
import { escapeText } from '../../src/tools/html.ts'
import { json, type Fake, type FakeOptions, type FakeReply, type FakeRequest, type SandboxPost } from '../fake.ts'
import { FakeOAuth, newOAuthState, SANDBOX_APP, type OAuthState, type TokenHolder } from '../oauth-server.ts'
import { limited, type FakeWindows } from './limits.ts'
import { FakeUploads, keyOf, type FakeMedia } from './media.ts'
import { pollIn, pollProblem, type FakePoll } from './polls.ts'
import * as problems from './problems.ts'

interface User {
  readonly id: string
  readonly username: string
  readonly subscription: 'None' | 'Premium'
  /** Whether X has locked the account until its owner signs in. */
  isLocked: boolean
  /** Set by tests. */
  followers?: number
}

interface Post {
  readonly id: string
  readonly author: string
  readonly text: string
  readonly media: readonly string[]
  readonly replyTo: string | null
  readonly quotes: string | null
  readonly poll?: FakePoll | null
  readonly at: number
  /** Set by tests. */
  likes?: number
}

interface State {
  readonly oauth: OAuthState
  readonly users: Record<string, User>
  readonly media: Record<string, FakeMedia>
  readonly posts: Post[]
  readonly windows: FakeWindows
  /** US dollars that the app has left; null for unlimited. */
  credits: number | null
  next: number
}

const SCOPES = ['tweet.read', 'tweet.write', 'users.read', 'media.write', 'offline.access', 'like.read']
const ACCESS_SECONDS = 7_200
const TEXT = 280
const PREMIUM_TEXT = 25_000
/** Minutes of a video. */
const VIDEO = 20
const PREMIUM_VIDEO = 125
/** X refuses the same text for about this long (reported by users; X does not say). */
const DUPLICATE_MS = 12 * 3_600_000
const REPLY_SETTINGS = ['following', 'mentionedUsers', 'subscribers', 'verified']

/**
 * API v2 of X: OAuth with PKCE and refresh tokens that work once, users, media in pieces, posts, limits and credits
 * (docs.x.com, 2026-11). An account whose name contains `premium` has a subscription.
 */
export function xFake({ clock, state }: FakeOptions<State>): Fake<State> {
  const kept: State = state ?? {
    oauth: newOAuthState(),
    users: {},
    media: {},
    posts: [],
    windows: {},
    credits: null,
    next: 1,
  }
  const nextId = () => `1990000000${String((kept.next += 1)).padStart(9, '0')}`
  const user = (username: string): User => {
    const known = Object.values(kept.users).find((one) => one.username === username)
    if (known !== undefined) return known
    const id = nextId()
    const subscription = username.includes('premium') ? 'Premium' : 'None'
    return (kept.users[id] = { id, username, subscription, isLocked: false })
  }
  const oauth = new FakeOAuth({
    title: 'X',
    clock,
    state: kept.oauth,
    scopes: SCOPES,
    accountOf: (name) => user(name).id,
    clientAuth: 'basic',
    pkce: 'required',
    accessLife: ACCESS_SECONDS,
    refresh: 'rotating',
    refreshWith: (scopes) => scopes.includes('offline.access'),
    errorBody: (error, description) =>
      error === 'invalid_grant'
        ? { error: 'invalid_request', error_description: 'Value passed for the token was invalid.' }
        : { error: error === 'invalid_client' ? 'unauthorized_client' : error, error_description: description },
  })
  const uploads = new FakeUploads(kept.media, clock, nextId)

  const revoke = ({ body, headers }: FakeRequest): FakeReply => {
    const expected = `Basic ${Buffer.from(`${SANDBOX_APP.clientId}:${SANDBOX_APP.clientSecret}`).toString('base64')}`
    if (headers.authorization !== expected) {
      return json(401, { error: 'unauthorized_client', error_description: 'Missing valid authorization header' })
    }
    const isKnown = oauth.revoke(String(body['token']))
    return isKnown
      ? json(200, { revoked: true })
      : json(400, { error: 'invalid_request', error_description: 'Value passed for the token was invalid.' })
  }

  const create = ({ body }: FakeRequest, { account }: TokenHolder): FakeReply => {
    const author = kept.users[account]!
    const text = typeof body['text'] === 'string' ? body['text'].trim() : ''
    const { media_ids: ids = [] } = (body['media'] ?? {}) as { media_ids?: string[] }
    const { in_reply_to_tweet_id: replyTo = null } = (body['reply'] ?? {}) as { in_reply_to_tweet_id?: string }
    const quotes = (body['quote_tweet_id'] as string | undefined) ?? null
    const poll = pollIn(body)
    const refusal =
      (author.isLocked ? problems.LOCKED : undefined) ??
      problemOfFields(body) ??
      problemOfMedia(ids, author, quotes) ??
      problemOfText(text, ids, author) ??
      (poll === null ? undefined : pollProblem(poll, ids.length > 0 || quotes !== null))
    if (refusal !== undefined) return refusal
    if (replyTo !== null && !kept.posts.some(({ id }) => id === replyTo)) return problems.NO_REPLY
    if (quotes !== null && !kept.posts.some(({ id }) => id === quotes)) return problems.NOT_PERMITTED
    if (!pay(twitterText.extractUrls(text).length > 0 ? 0.2 : 0.015)) return problems.NO_CREDITS
    const post = { id: nextId(), author: account, text, media: ids, replyTo, quotes, poll, at: clock.now() }
    kept.posts.push(post)
    return json(201, { data: { id: post.id, text: shownText(post), edit_history_tweet_ids: [post.id] } })
  }

  const problemOfText = (text: string, ids: readonly string[], author: User): FakeReply | undefined => {
    if (text === '' && ids.length === 0) return problems.invalid('text', 'A post must have a text or media.')
    const length = twitterText.parseTweet(text).weightedLength
    if (length > (author.subscription === 'None' ? TEXT : PREMIUM_TEXT)) return problems.NOT_PERMITTED
    const since = clock.now() - DUPLICATE_MS
    const isRepeated =
      ids.length === 0 &&
      kept.posts.some(
        (post) => post.author === author.id && post.at > since && post.text === text && !post.media.length,
      )
    return isRepeated ? problems.DUPLICATE : undefined
  }

  const problemOfMedia = (ids: readonly string[], author: User, quotes: string | null): FakeReply | undefined => {
    const files = uploads.ready(ids, author.id)
    if (files === undefined) return problems.invalid('media.media_ids', 'Your media IDs are invalid.')
    const moving = files.filter(({ category }) => category !== 'tweet_image')
    if (files.length > 4 || (moving.length > 0 && files.length > 1)) {
      return problems.invalid('media.media_ids', 'A post can have four images, or one GIF, or one video.')
    }
    if (new Set(ids).size < ids.length) return problems.invalid('media.media_ids', 'Your media IDs are invalid.')
    if (files.length > 0 && quotes !== null) {
      return problems.invalid('quote_tweet_id', 'A quote cannot have media attached by media_ids.')
    }
    const minutes = author.subscription === 'None' ? VIDEO : PREMIUM_VIDEO
    return files.some(({ seconds }) => seconds > minutes * 60) ? problems.tooLong(minutes) : undefined
  }

  const pay = (price: number): boolean => {
    if (kept.credits === null) return true
    if (kept.credits < price) return false
    kept.credits -= price
    return true
  }

  const timeline = (query: URLSearchParams, author: string): FakeReply => {
    const size = Number(query.get('max_results') ?? 10)
    if (size < 5 || size > 100) return problems.invalid('max_results', 'The value must be between 5 and 100.')
    const start = query.get('start_time')
    if (start !== null && !/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/.test(start)) {
      return problems.invalid('start_time', 'The time must have the format YYYY-MM-DDTHH:mm:ssZ.')
    }
    const since = start === null ? 0 : Date.parse(start)
    const withoutReplies = query.get('exclude')?.split(',').includes('replies') === true
    const first = Number(query.get('pagination_token') ?? 0)
    const all = kept.posts
      .filter((post) => post.author === author && post.at >= since && !(withoutReplies && post.replyTo !== null))
      .toReversed()
    const own = all.slice(first, first + size)
    const isLast = first + size >= all.length
    const fields = query.get('tweet.fields')?.split(',') ?? []
    return json(200, {
      ...(own.length > 0 && { data: own.map((post) => view(post, fields)) }),
      meta: { result_count: own.length, ...(!isLast && { next_token: String(first + size) }) },
    })
  }

  const view = (post: Post, fields: readonly string[]) => {
    const refers = [
      ...(post.quotes === null ? [] : [{ type: 'quoted', id: post.quotes }]),
      ...(post.replyTo === null ? [] : [{ type: 'replied_to', id: post.replyTo }]),
    ]
    const replies = kept.posts.filter(({ replyTo }) => replyTo === post.id).length
    const optional: Record<string, unknown> = {
      author_id: post.author,
      created_at: new Date(post.at).toISOString(),
      ...(refers.length > 0 && { referenced_tweets: refers }),
      ...(post.media.length > 0 && { attachments: { media_keys: post.media.map((id) => keyOf(kept.media[id]!)) } }),
      ...(post.poll && { attachments: { poll_ids: [`18${post.id.slice(2)}`] } }),
      ...(isLong(post.text) && { note_tweet: { text: escapeText(post.text) } }),
      public_metrics: {
        retweet_count: 0,
        reply_count: replies,
        like_count: post.likes ?? 0,
        quote_count: 0,
        bookmark_count: 0,
        impression_count: 1,
      },
    }
    const asked = Object.entries(optional).filter(([name]) => fields.includes(name))
    return { id: post.id, text: shownText(post), edit_history_tweet_ids: [post.id], ...Object.fromEntries(asked) }
  }

  const ofPost = ({ method, query }: FakeRequest, { account }: TokenHolder, id: string): FakeReply => {
    const index = kept.posts.findIndex((post) => post.id === id)
    const post = kept.posts[index]
    if (method === 'GET') {
      if (post === undefined) return problems.notFound('id', id)
      return json(200, { data: view(post, query.get('tweet.fields')?.split(',') ?? []) })
    }
    if (post !== undefined && post.author !== account) return problems.NOT_PERMITTED
    if (post === undefined) return problems.problem(404, 'Not Found', 'No post with this id exists.')
    kept.posts.splice(index, 1)
    return json(200, { data: { deleted: true } })
  }

  const asUser = (request: FakeRequest, holder: TokenHolder): FakeReply => {
    const { method, path, query } = request
    const missing = scopesOf(method, path).find((scope) => !holder.scopes.includes(scope))
    if (missing !== undefined) return problems.missingScope(missing)
    if (method === 'GET' && path === '/2/users/me') {
      return json(200, { data: userView(request.base, kept.users[holder.account]!, query, kept.posts) })
    }
    if (method === 'POST' && path === '/2/tweets') return create(request, holder)
    const author = /^\/2\/users\/(\d+)\/tweets$/.exec(path)?.[1]
    if (method === 'GET' && author !== undefined) return timeline(query, author)
    const id = /^\/2\/tweets\/(\d{1,19})$/.exec(path)?.[1]
    if (id !== undefined) return ofPost(request, holder, id)
    return uploads.handle(request, holder.account) ?? problems.problem(404, 'Not Found', 'Not Found')
  }

  return {
    state: kept,
    handle: (request) => {
      const { method, path } = request
      if (path === '/i/oauth2/authorize') return oauth.authorize(request)
      if (method === 'POST' && path === '/2/oauth2/token') return oauth.token(request)
      if (method === 'POST' && path === '/2/oauth2/revoke') return revoke(request)
      const holder = oauth.holder(request)
      if (holder === undefined) return problems.UNAUTHORIZED
      const { account } = holder
      return limited(kept.windows, clock, { account, method, path }, () => asUser(request, holder))
    },
    newAccount: () => oauth.grant(user(`sandbox_${(kept.next += 1)}`).id),
    posts: () =>
      kept.posts.map(({ at, author, id, media, replyTo, text }): SandboxPost => ({
        id,
        account: kept.users[author]?.username ?? author,
        text,
        media: media.map((file) => kept.media[file]?.type ?? file),
        replyTo,
        publishedAt: new Date(at).toISOString(),
      })),
  }
}

function problemOfFields(body: FakeRequest['body']): FakeReply | undefined {
  const settings = body['reply_settings'] as string | undefined
  if (settings !== undefined && !REPLY_SETTINGS.includes(settings)) {
    return problems.invalid('reply_settings', `${settings} is not one of the allowed values.`)
  }
  const known = 'text media reply quote_tweet_id poll reply_settings community_id share_with_followers'.split(' ')
  const unknown = Object.keys(body).find((name) => !known.includes(name))
  return unknown === undefined ? undefined : problems.invalid(unknown, `The field ${unknown} is not known.`)
}

function scopesOf(method: string, path: string): string[] {
  if (path.startsWith('/2/media/')) return ['media.write']
  if (path === '/2/users/me') return ['tweet.read', 'users.read']
  return method === 'GET' ? ['tweet.read', 'users.read'] : ['tweet.read', 'tweet.write', 'users.read']
}

function userView(
  base: string,
  { followers = 0, id, subscription, username }: User,
  query: URLSearchParams,
  posts: readonly Post[],
) {
  const postCount = posts.filter(({ author }) => author === id).length
  const optional = {
    profile_image_url: `${base}/avatars/${id}_normal.jpg`,
    verified_type: subscription === 'None' ? 'none' : 'blue',
    subscription_type: subscription,
    protected: false,
    public_metrics: { followers_count: followers, following_count: 0, tweet_count: postCount, listed_count: 0 },
  }
  const fields = query.get('user.fields')?.split(',') ?? []
  const asked = Object.entries(optional).filter(([name]) => fields.includes(name))
  return { id, name: username, username, ...Object.fromEntries(asked) }
}

function isLong(text: string): boolean {
  return twitterText.parseTweet(text).weightedLength > TEXT
}

/** The text as X returns it: links shortened, a link for the media, escaped, and cut after 280 characters. */
function shownText({ id, media, text }: Post): string {
  const short = text.replaceAll(
    /https?:\/\/\S+/g,
    (url) => `https://t.co/${Buffer.from(url).toString('hex').slice(0, 10)}`,
  )
  const cut = isLong(text) ? `${Array.from(short).slice(0, 270).join('')}… https://t.co/${id.slice(-10)}` : short
  return escapeText(media.length > 0 ? `${cut} https://t.co/${id.slice(-10)}`.trim() : cut)
}
