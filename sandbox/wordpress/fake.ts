import { randomBytes, randomUUID } from 'node:crypto'
import { consentPage } from '../consent-page.ts'
import { json, type Fake, type FakeOptions, type FakeReply, type FakeRequest, type SandboxPost } from '../fake.ts'
import { createComment, listComments, listMedia, oneComment, upload } from './media.ts'
import { createPost, listPosts, onePost, terms, type PostRequest } from './posts.ts'
import {
  capabilitiesOf,
  failure,
  newSite,
  nextId,
  picked,
  plainOf,
  textOf,
  userOf,
  type FakeUser,
  type SiteState,
} from './state.ts'

const AUTHORIZE = '/wp-admin/authorize-application.php'
const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

/**
 * A WordPress site with pretty permalinks: application passwords with their consent page, users, posts, media, tags,
 * categories and comments (developer.wordpress.org/rest-api, and the controllers of WordPress 6.1, 2026-11). The suite
 * in test/api/wordpress.test.ts runs against it and against a real site.
 */
export function wordpressFake({ clock, state }: FakeOptions<SiteState>): Fake<SiteState> {
  const site = state ?? newSite()

  const newPassword = (user: FakeUser, name: string, appId = '') => {
    // 24 letters and digits, shown in groups of four.
    const password = randomBytes(40).toString('base64').replaceAll(/\W/g, '').slice(0, 24)
    site.passwords.push({ uuid: randomUUID(), user: user.id, name, appId, password })
    return password.replaceAll(/(.{4})(?=.)/g, '$1 ')
  }

  /** The page on which a user approves an application. */
  const authorize = ({ base, body, method, query }: FakeRequest): FakeReply => {
    const params = method === 'GET' ? Object.fromEntries(query) : (body as Record<string, string>)
    const {
      account = 'sandbox',
      app_id: appId = '',
      app_name: name = '',
      reject_url: reject = '',
      success_url: success = '',
    } = params
    const stop = (why: string) => ({ status: 500, body: `WordPress (sandbox): the request is not allowed. ${why}` })
    if (appId !== '' && !UUID.test(appId)) return stop('The application ID must be a UUID.')
    if ([success, reject].some((url) => url !== '' && !/^https?:\/\/[^/]/.test(url))) return stop('Invalid URL format.')
    if (method === 'GET') return { status: 200, body: consentPage('WordPress', params, [name || 'an application']) }
    if (params['decision'] !== 'allow') return { status: 302, headers: { Location: reject } }
    const user = userOf(site, account)
    if (site.passwords.some((one) => one.user === user.id && one.name === name)) {
      return stop('Each application name should be unique.')
    }
    const back = new URL(success)
    for (const [key, value] of Object.entries({
      site_url: base,
      user_login: user.login,
      password: newPassword(user, name, appId),
    })) {
      back.searchParams.set(key, value)
    }
    return { status: 302, headers: { Location: back.href } }
  }

  /** The user of a request. As on a site without plugins, a request with a wrong password counts as a visitor's. */
  const userBy = ({ headers }: FakeRequest): FakeUser | undefined => {
    const [, basic] = /^Basic (.+)$/i.exec(headers.authorization ?? '') ?? []
    if (basic === undefined) return undefined
    const [, login = '', given = ''] = /^([^:]*):(.*)$/.exec(Buffer.from(basic, 'base64').toString('utf8')) ?? []
    const user = site.users.find((one) => one.login === login)
    const password = given.replaceAll(/[^a-z\d]/gi, '')
    return site.passwords.some((one) => one.user === user?.id && one.password === password) ? user : undefined
  }

  const usersRoute = ({ request, user }: PostRequest, route: string): FakeReply => {
    if (user === undefined) return failure(401, 'rest_not_logged_in', 'You are not currently logged in.')
    if (route === '/wp/v2/users/me') return json(200, userView(request.base, user))
    const [, target = ''] = /^\/wp\/v2\/users\/me\/application-passwords\/([\w-]+)$/.exec(route) ?? []
    const basic = Buffer.from((request.headers.authorization ?? '').slice(6), 'base64').toString('utf8')
    const used = basic.slice(basic.indexOf(':') + 1).replaceAll(/[^a-z\d]/gi, '')
    const isWanted = (one: SiteState['passwords'][number]) =>
      one.user === user.id && (target === 'introspect' ? one.password === used : one.uuid === target)
    const index = site.passwords.findIndex(isWanted)
    const found = site.passwords[index]
    if (found === undefined)
      return failure(404, 'rest_application_password_not_found', 'Application password not found.')
    const view = { uuid: found.uuid, app_id: found.appId, name: found.name }
    if (request.method === 'GET') return json(200, view)
    if (request.method !== 'DELETE' || target === 'introspect') return NO_ROUTE
    site.passwords.splice(index, 1)
    return json(200, { deleted: true, previous: view })
  }

  const route = (call: PostRequest, path: string): FakeReply => {
    const { method } = call.request
    const reads = method === 'GET'
    if (path === '/') return json(200, picked(indexOf(call.request.base), call.request.query.get('_fields')))
    if (path.startsWith('/wp/v2/users/me')) return usersRoute(call, path)
    if (path === '/wp/v2/posts') return reads ? listPosts(call) : createPost(call)
    if (path === '/wp/v2/media') return reads ? listMedia(call) : upload(call)
    if (path === '/wp/v2/comments') return reads ? listComments(call) : createComment(call)
    if (path === '/wp/v2/categories') return terms(call, 'category')
    if (path === '/wp/v2/tags') return terms(call, 'post_tag')
    const [, kind, id] = /^\/wp\/v2\/(posts|comments)\/(\d+)$/.exec(path) ?? []
    if (kind === undefined) return NO_ROUTE
    return kind === 'posts' ? onePost(call, Number(id)) : oneComment(call, Number(id))
  }

  return {
    state: site,
    handle: (request) => {
      const { base, path, query } = request
      if (path === AUTHORIZE) return authorize(request)
      const isRest =
        path.startsWith('/wp-json/') || path === '/wp-json' || (path === '/index.php' && query.has('rest_route'))
      if (!isRest) {
        const link = { Link: `<${base}/wp-json/>; rel="https://api.w.org/"` }
        return path === '/' ? { status: 200, headers: link, body: '' } : { status: 404, body: 'Not found' }
      }
      const wanted = query.get('rest_route') ?? path.slice('/wp-json'.length)
      const user = userBy(request)
      return route({ state: site, request, user, now: clock.now() }, wanted === '' ? '/' : wanted)
    },
    newAccount: () => {
      const user = userOf(site, `sandbox_${nextId(site)}`)
      return { login: user.login, accessToken: newPassword(user, `Sandbox ${user.id}`) }
    },
    posts: () => [
      ...site.posts
        .filter(({ status }) => status !== 'trash')
        .map(({ at, author, content, id }) => ({
          id: String(id),
          account: loginOf(site, author),
          text: plainOf(content),
          media: mediaOf(site, content),
          replyTo: null,
          publishedAt: new Date(at).toISOString(),
        })),
      ...site.comments
        .filter(({ status }) => status === 'approved')
        .map(({ at, author, content, id, post }): SandboxPost => ({
          id: String(id),
          account: loginOf(site, author),
          text: plainOf(content),
          media: [],
          replyTo: String(post),
          publishedAt: new Date(at).toISOString(),
        })),
    ],
  }
}

const NO_ROUTE = failure(404, 'rest_no_route', 'No route was found matching the URL and request method.')

function indexOf(base: string) {
  return {
    name: 'Crier’s sandbox of WordPress',
    description: 'Just another WordPress site',
    url: base,
    home: base,
    namespaces: ['oembed/1.0', 'wp/v2', 'wp-site-health/v1', 'wp-block-editor/v1'],
    authentication: { 'application-passwords': { endpoints: { authorization: `${base}${AUTHORIZE}` } } },
  }
}

function userView(base: string, { id, login, role }: FakeUser) {
  return {
    id,
    name: login,
    slug: textOf(login).toLowerCase(),
    link: `${base}/author/${login}/`,
    avatar_urls: { 24: `${base}/avatar/24.png`, 48: `${base}/avatar/48.png`, 96: `${base}/avatar/96.png` },
    roles: [role],
    capabilities: Object.fromEntries(capabilitiesOf(role).map((one) => [one, true])),
  }
}

function loginOf({ users }: SiteState, id: number): string {
  return users.find((user) => user.id === id)?.login ?? String(id)
}

/** The types of the files in a content. */
function mediaOf({ attachments }: SiteState, content: string): string[] {
  return [...content.matchAll(/<!-- wp:(?:image|video|file) \{"id":(\d+)/g)].map(
    ([, id]) => attachments.find((one) => one.id === Number(id))?.type ?? '',
  )
}
