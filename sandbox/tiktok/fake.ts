import { randomBytes } from 'node:crypto'
import type { Fake, FakeOptions, FakeReply, FakeRequest, SandboxPost } from '../fake.ts'
import { FakeOAuth, newOAuthState, type OAuthState, type TokenHolder } from '../oauth-server.ts'
import {
  CREATOR_SECONDS,
  ok,
  privacyLevels,
  Publications,
  reply,
  type Person,
  type Post,
  type State as PublicationState,
} from './publications.ts'

interface State extends PublicationState {
  readonly oauth: OAuthState
}

const SCOPES = [
  'user.info.basic',
  'user.info.profile',
  'user.info.stats',
  'video.publish',
  'video.upload',
  'video.list',
]
/** developers.tiktok.com/docs/en/oauth-user-access-token-management, 2026-11. */
const ACCESS_LIFE = 2 * 3_600
const REFRESH_LIFE = 180 * 86_400
const MINUTE_MS = 60_000
/** Calls of an account in a minute. */
const RATES: Readonly<Record<string, number>> = {
  '/v2/post/publish/creator_info/query/': 20,
  '/v2/post/publish/video/init/': 6,
  '/v2/post/publish/inbox/video/init/': 6,
  '/v2/post/publish/content/init/': 6,
  '/v2/post/publish/status/fetch/': 30,
}
const NEEDED: Readonly<Record<string, string>> = {
  '/v2/user/info/': 'user.info.basic',
  '/v2/video/query/': 'video.list',
  '/v2/video/list/': 'video.list',
}

/** The Login Kit and the Content Posting API of TikTok (developers.tiktok.com, 2026-11). */
export function tiktokFake({ clock, state }: FakeOptions<State>): Fake<State> {
  const kept: State = state ?? {
    oauth: newOAuthState(),
    people: {},
    publications: {},
    posts: [],
    calls: {},
    audited: true,
    verifiedDomains: null,
    failNext: null,
    next: 1_000,
  }
  const person = (username: string): Person => {
    const known = Object.values(kept.people).find((one) => one.username === username)
    if (known !== undefined) return known
    const openId = `-000${randomBytes(16).toString('hex')}`
    return (kept.people[openId] = { openId, username, private: false })
  }
  const oauth = new FakeOAuth({
    title: 'TikTok',
    clock,
    state: kept.oauth,
    scopes: SCOPES,
    accountOf: (name) => person(name).openId,
    clientIdParam: 'client_key',
    scopeSeparator: ',',
    clientAuth: 'body',
    pkce: 'optional',
    accessLife: ACCESS_LIFE,
    refresh: 'rotating',
    refreshLife: REFRESH_LIFE,
    refreshLifeField: 'refresh_expires_in',
    tokenFields: ({ account }) => ({ open_id: account }),
    errorBody: (error, description) => ({
      error,
      error_description: description,
      log_id: randomBytes(16).toString('hex'),
    }),
  })
  const publications = new Publications(kept, clock)

  const revoke = ({ body }: FakeRequest): FakeReply => {
    const known = typeof body['token'] === 'string' && oauth.revoke(body['token'])
    if (known) return { status: 200, body: {} }
    return { status: 400, body: { error: 'invalid_grant', error_description: 'The token is invalid.', log_id: '0' } }
  }

  const isOverRate = (path: string, account: string): boolean => {
    const most = RATES[path]
    if (most === undefined) return false
    const key = `${account} ${path}`
    const recent = (kept.calls[key] ?? []).filter((at) => at > clock.now() - MINUTE_MS)
    if (recent.length < most) recent.push(clock.now())
    else return true
    kept.calls[key] = recent
    return false
  }

  const userInfo = ({ base, query }: FakeRequest, { account, scopes }: TokenHolder): FakeReply => {
    const fields = (query.get('fields') ?? '').split(',').filter(Boolean)
    const known = kept.people[account]
    const all: Readonly<Record<string, [scope: string, value: unknown]>> = {
      open_id: ['user.info.basic', account],
      union_id: ['user.info.basic', `union-${account}`],
      avatar_url: ['user.info.basic', `${base}/avatar.jpeg`],
      display_name: ['user.info.basic', known?.username],
      username: ['user.info.profile', known?.username],
      profile_deep_link: ['user.info.profile', `https://vm.tiktok.com/${account}`],
      follower_count: ['user.info.stats', 0],
    }
    if (fields.length === 0 || fields.some((field) => all[field] === undefined)) {
      return reply(400, 'invalid_params', 'Fields are invalid')
    }
    if (fields.some((field) => !scopes.includes(all[field]?.[0] ?? ''))) return scopeMissing()
    return ok({ user: Object.fromEntries(fields.map((field) => [field, all[field]?.[1]])) })
  }

  const creatorInfo = (base: string, account: string): FakeReply => {
    const known = kept.people[account]
    return ok({
      creator_avatar_url: `${base}/avatar.jpeg`,
      creator_username: known?.username,
      creator_nickname: known?.username,
      privacy_level_options: privacyLevels(kept, known),
      comment_disabled: false,
      duet_disabled: known?.private === true,
      stitch_disabled: known?.private === true,
      max_video_post_duration_sec: CREATOR_SECONDS,
    })
  }

  const videoView = (fields: readonly string[], { at, id, person: author, text }: Post) => {
    const all: Readonly<Record<string, unknown>> = {
      id,
      title: text,
      video_description: text,
      create_time: Math.floor(at / 1_000),
      share_url: `https://www.tiktok.com/@${kept.people[author]?.username}/video/${id}`,
      view_count: 0,
      like_count: 0,
      comment_count: 0,
      share_count: 0,
    }
    return Object.fromEntries(fields.map((field) => [field, all[field]]))
  }

  const videos = ({ body, path, query }: FakeRequest, account: string): FakeReply => {
    const fields = (query.get('fields') ?? '').split(',').filter(Boolean)
    if (fields.length === 0) return reply(400, 'invalid_params', 'Fields is required')
    const own = kept.posts.filter((post) => post.person === account && post.isPublic).toReversed()
    if (path === '/v2/video/list/') {
      const most = Number(body['max_count'] ?? 10)
      if (most > 20) return reply(400, 'invalid_params', 'max_count is at most 20')
      const page = own.slice(0, most).map((post) => videoView(fields, post))
      return ok({ videos: page, cursor: 0, has_more: own.length > most })
    }
    const ids = ((body['filters'] ?? {}) as { video_ids?: string[] }).video_ids ?? []
    return ok({ videos: own.filter(({ id }) => ids.includes(id)).map((post) => videoView(fields, post)) })
  }

  const asAccount = (request: FakeRequest, holder: TokenHolder): FakeReply => {
    const { base, body, path } = request
    const { account, scopes } = holder
    if (!scopes.includes(scopeFor(path, body))) return scopeMissing()
    if (isOverRate(path, account)) {
      return reply(429, 'rate_limit_exceeded', 'The API rate limit was exceeded. Please try again later.')
    }
    if (path === '/v2/user/info/') return userInfo(request, holder)
    if (path === '/v2/post/publish/creator_info/query/') return creatorInfo(base, account)
    if (path === '/v2/post/publish/video/init/' || path === '/v2/post/publish/inbox/video/init/')
      return publications.initVideo(request, account)
    if (path === '/v2/post/publish/content/init/') return publications.initPhotos(request, account)
    if (path === '/v2/post/publish/status/fetch/') {
      const publication = kept.publications[String(body['publish_id'])]
      if (publication === undefined) return reply(400, 'invalid_publish_id', 'The publish_id does not exist.')
      return publication.person === account
        ? publications.status(publication)
        : reply(403, 'token_not_authorized_for_specified_publish_id', 'The access_token does not own the publish_id.')
    }
    if (path === '/v2/video/list/' || path === '/v2/video/query/') return videos(request, account)
    return reply(404, 'unsupported_path', 'Unsupported path')
  }

  return {
    state: kept,
    handle: (request) => {
      const { method, path } = request
      if (path === '/v2/auth/authorize/') return oauth.authorize(request)
      if (method === 'POST' && path === '/v2/oauth/token/') return oauth.token(request)
      if (method === 'POST' && path === '/v2/oauth/revoke/') return revoke(request)
      if (method === 'PUT' && path === '/upload/') return publications.put(request)
      const holder = oauth.holder(request)
      if (holder === undefined) {
        return reply(401, 'access_token_invalid', 'The access token is invalid or not found in the request.')
      }
      return asAccount(request, holder)
    },
    newAccount: () => {
      const { openId, username } = person(`sandbox_${(kept.next += 1)}`)
      return { ...oauth.grant(openId), username }
    },
    posts: () =>
      kept.posts.map(({ at, id, isDraft = false, media, person: author, text }): SandboxPost => ({
        id,
        account: kept.people[author]?.username ?? author,
        text: isDraft ? `Draft in the inbox: ${text}` : text,
        media,
        replyTo: null,
        publishedAt: new Date(at).toISOString(),
      })),
  }
}

/** Drafts have a scope of their own. Both show the status of their publications. */
function scopeFor(path: string, body: FakeRequest['body']): string {
  const isDraft = path.includes('/inbox/') || body['post_mode'] === 'MEDIA_UPLOAD'
  const isOfDraft = /^[vp]_inbox_/.test(String(body['publish_id']))
  return NEEDED[path] ?? (isDraft || isOfDraft ? 'video.upload' : 'video.publish')
}

function scopeMissing(): FakeReply {
  return reply(
    401,
    'scope_not_authorized',
    'The user did not authorize the scope required for completing this request.',
  )
}
