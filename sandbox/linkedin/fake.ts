import { randomBytes } from 'node:crypto'
import type { Fake, FakeOptions, FakeReply, FakeRequest, SandboxPost } from '../fake.ts'
import { FakeOAuth, newOAuthState, type OAuthState, type TokenHolder } from '../oauth-server.ts'
import { Posts, readLittleText, type PostsState } from './posts.ts'
import { fault } from './replies.ts'
import { Uploads, type Asset } from './uploads.ts'

interface Person {
  readonly id: string
  readonly name: string
}

interface Organization {
  readonly id: string
  readonly name: string
  /** Roles by the id of the person. */
  readonly roles: Record<string, string>
}

interface State extends PostsState {
  readonly oauth: OAuthState
  readonly people: Record<string, Person>
  readonly organizations: Record<string, Organization>
  readonly assets: Record<string, Asset>
  /** Whether LinkedIn has approved the app for refresh tokens. */
  refreshTokens: boolean
  /** The oldest version of the API that still works. */
  oldestVersion: string
}

const SCOPES = [
  'openid',
  'profile',
  'email',
  'w_member_social',
  'r_organization_social',
  'w_organization_social',
  'rw_organization_admin',
]
const DAY = 86_400
const ORGANIZATION = /^urn:li:organization:(\d+)$/

/** The API of LinkedIn with versions and Rest.li (learn.microsoft.com/linkedin, 2026-11). */
export function linkedinFake({ clock, state }: FakeOptions<State>): Fake<State> {
  const kept: State = state ?? {
    oauth: newOAuthState(),
    people: {},
    organizations: {},
    assets: {},
    posts: [],
    comments: [],
    refreshTokens: true,
    oldestVersion: '202512',
    next: 10_000,
  }
  const organization = (name: string, roles: Record<string, string>) => {
    const id = String((kept.next += 1))
    kept.organizations[id] = { id, name, roles }
  }
  const person = (name: string): Person => {
    const known = Object.values(kept.people).find((one) => one.name === name)
    if (known !== undefined) return known
    const id = randomBytes(5).toString('base64url').replaceAll('-', 'x').replaceAll('_', 'y')
    organization(`${name} Inc`, { [id]: 'ADMINISTRATOR' })
    organization(`Friends of ${name}`, { [id]: 'ANALYST' })
    return (kept.people[id] = { id, name })
  }
  const oauth = new FakeOAuth({
    title: 'LinkedIn',
    clock,
    state: kept.oauth,
    scopes: SCOPES,
    accountOf: (name) => person(name).id,
    clientAuth: 'body',
    pkce: 'optional',
    accessLife: 60 * DAY,
    refresh: 'reusable',
    refreshLife: 365 * DAY,
    refreshWith: () => kept.refreshTokens,
  })
  const uploads = new Uploads(kept.assets, clock)
  const posts = new Posts(kept, clock, uploads)

  /** Why the holder cannot write as an author. */
  const cannotWrite = (author: string, { account, scopes }: TokenHolder): FakeReply | undefined => {
    const [, id] = ORGANIZATION.exec(author) ?? []
    if (id === undefined) {
      if (author !== `urn:li:person:${account}`) return denied('The author is not the member of the token')
      return scopes.includes('w_member_social') ? undefined : denied('Not enough permissions to access: posts.CREATE')
    }
    if (kept.organizations[id]?.roles[account] !== 'ADMINISTRATOR') return denied('Not an administrator of the page')
    return scopes.includes('w_organization_social')
      ? undefined
      : denied('Not enough permissions to access: posts.CREATE')
  }
  const cannotRead = ({ scopes }: TokenHolder, author: string): FakeReply | undefined => {
    if (!ORGANIZATION.test(author)) return denied('Not enough permissions to access: r_member_social')
    return scopes.includes('r_organization_social')
      ? undefined
      : denied('Not enough permissions: r_organization_social')
  }

  const revoke = ({ body }: FakeRequest): FakeReply =>
    oauth.revoke(String(body['token']))
      ? { status: 200, body: {} }
      : { status: 400, body: { error: 'invalid_request', error_description: 'The token is invalid' } }

  const organizations = (request: FakeRequest, { account, scopes }: TokenHolder): FakeReply => {
    const { path, query } = request
    if (!scopes.includes('rw_organization_admin')) return denied('Not enough permissions: rw_organization_admin')
    if (path === '/rest/organizationAcls') {
      if (query.get('q') !== 'roleAssignee') return fault(400, 'INVALID_PARAMETER', 'q is invalid')
      const held = Object.values(kept.organizations).filter(({ roles }) => roles[account] !== undefined)
      const elements = held.map(({ id, roles }) => ({
        role: roles[account],
        organization: `urn:li:organization:${id}`,
        roleAssignee: `urn:li:person:${account}`,
        state: 'APPROVED',
      }))
      return { status: 200, body: { paging: { start: 0, count: 100, links: [] }, elements } }
    }
    if (path === '/rest/organizationsLookup') {
      const ids = /^List\(([\d,]+)\)$/.exec(query.get('ids') ?? '')?.[1]?.split(',')
      if (ids === undefined) return fault(400, 'PARAM_INVALID', 'ids is not a list')
      const known = ids.flatMap((id) =>
        kept.organizations[id] === undefined ? [] : [[id, organizationView(id)] as const],
      )
      return { status: 200, body: { results: Object.fromEntries(known), statuses: {}, errors: {} } }
    }
    const id = path.split('/').at(-1) ?? ''
    if (kept.organizations[id]?.roles[account] !== 'ADMINISTRATOR') return denied('Not an administrator of the page')
    return { status: 200, body: organizationView(id) }
  }

  const organizationView = (id: string) => {
    const name = kept.organizations[id]?.name ?? ''
    return { id: Number(id), localizedName: name, vanityName: name.toLowerCase().replaceAll(' ', '-') }
  }

  const ofPost = (request: FakeRequest, holder: TokenHolder, id: string): FakeReply => {
    const post = posts.find(id)
    if (post === undefined) return fault(404, 'NOT_FOUND', 'The post does not exist')
    const refused = cannotWrite(post.author, holder)
    if (refused !== undefined) return refused
    if (request.method === 'POST') return posts.update(request, post)
    return request.method === 'DELETE' ? posts.remove(post) : fault(405, 'METHOD_NOT_ALLOWED', 'No such method')
  }

  const comments = (request: FakeRequest, holder: TokenHolder, object: string, id: string | undefined): FakeReply => {
    const actor = (request.body['actor'] as string | undefined) ?? request.query.get('actor') ?? ''
    if (request.method === 'GET')
      return cannotRead(holder, posts.find(object)?.author ?? '') ?? posts.commentsOf(object)
    const refused = cannotWrite(actor, holder)
    if (refused !== undefined) return refused
    return request.method === 'DELETE'
      ? posts.removeComment(object, id ?? '', actor)
      : posts.comment(request, object, actor)
  }

  const statistics = (holder: TokenHolder, { query }: FakeRequest): FakeReply => {
    const entity = query.get('organizationalEntity') ?? ''
    const [, id = ''] = /^List\((.+)\)$/.exec(query.get('shares') ?? query.get('ugcPosts') ?? '') ?? []
    const refused = cannotRead(holder, entity)
    if (refused !== undefined) return refused
    const figures = {
      impressionCount: 0,
      uniqueImpressionsCount: 0,
      clickCount: 0,
      likeCount: 0,
      commentCount: kept.comments.filter(({ object }) => object === id).length,
      shareCount: 0,
      engagement: 0,
    }
    const elements =
      posts.find(id) === undefined ? [] : [{ organizationalEntity: entity, totalShareStatistics: figures }]
    return { status: 200, body: { paging: { start: 0, count: 10, links: [] }, elements } }
  }

  const rest = (request: FakeRequest, holder: TokenHolder): FakeReply => {
    const { body, method, path, query } = request
    const [, , collection = '', entity = '', below, last] = path.split('/')
    const id = decodeURIComponent(entity)
    if (collection.startsWith('organizationA') || /^organizations(?:Lookup)?$/.test(collection)) {
      return organizations(request, holder)
    }
    if (collection === 'organizationalEntityShareStatistics') return statistics(holder, request)
    if (collection === 'images' || collection === 'videos' || collection === 'documents') {
      if (method === 'GET') return uploads.view(id)
      if (query.get('action') === 'finalizeUpload') return uploads.finalize(request)
      const { owner = '' } = (body['initializeUploadRequest'] ?? {}) as { owner?: string }
      return cannotWrite(owner, holder) ?? uploads.initialize(request, collection)
    }
    if (collection === 'socialActions' && below === 'comments') return comments(request, holder, id, last)
    if (collection !== 'posts') return fault(404, 'RESOURCE_NOT_FOUND', `No virtual resource found for ${path}`)
    if (id !== '') return ofPost(request, holder, id)
    if (method === 'POST') {
      const author = (body['author'] as string | undefined) ?? ''
      return cannotWrite(author, holder) ?? posts.create(request, author)
    }
    const author = query.get('author') ?? ''
    return cannotRead(holder, author) ?? posts.listOf(author, Number(query.get('count') ?? 10))
  }

  const withHeaders = (request: FakeRequest, holder: TokenHolder): FakeReply => {
    const version = String(request.headers['linkedin-version'] ?? '')
    if (!/^20\d{4}$/.test(version)) {
      return fault(
        400,
        'VERSION_MISSING',
        'A version must be present. Please specify a version by adding the LinkedIn-Version header.',
      )
    }
    if (version < kept.oldestVersion) {
      return fault(426, 'NONEXISTENT_VERSION', `Requested version ${version} is not active`)
    }
    if (request.headers['x-restli-protocol-version'] !== '2.0.0') {
      return fault(400, 'INVALID_PROTOCOL', 'X-Restli-Protocol-Version must be 2.0.0')
    }
    return rest(request, holder)
  }

  return {
    state: kept,
    handle: (request) => {
      const { base, method, path } = request
      if (path === '/oauth/v2/authorization') return oauth.authorize(request)
      if (method === 'POST' && path === '/oauth/v2/accessToken') return oauth.token(request)
      if (method === 'POST' && path === '/oauth/v2/revoke') return revoke(request)
      const holder = oauth.holder(request)
      if (method === 'PUT' && path.startsWith('/dms-uploads/')) return uploads.put(request, holder !== undefined)
      if (holder === undefined) return fault(401, 'INVALID_ACCESS_TOKEN', 'Invalid access token', 65_600)
      if (path !== '/v2/userinfo') return withHeaders(request, holder)
      if (!holder.scopes.includes('profile')) return denied('Not enough permissions to access: userinfo')
      const { id, name } = kept.people[holder.account] ?? { id: holder.account, name: '' }
      return { status: 200, body: { sub: id, name, given_name: name, picture: `${base}/${id}.jpg`, locale: 'en-US' } }
    },
    newAccount: () => oauth.grant(person(`sandbox_${(kept.next += 1)}`).id),
    posts: () => [
      ...kept.posts.map(({ at, author, commentary, id, media }): SandboxPost => ({
        id,
        account: author,
        text: readLittleText(commentary) ?? commentary,
        media,
        replyTo: null,
        publishedAt: new Date(at).toISOString(),
      })),
      ...kept.comments.map(({ actor, at, id, object, text }): SandboxPost => ({
        id,
        account: actor,
        text,
        media: [],
        replyTo: object,
        publishedAt: new Date(at).toISOString(),
      })),
    ],
  }
}

function denied(message: string): FakeReply {
  return fault(403, 'ACCESS_DENIED', message, 100)
}
