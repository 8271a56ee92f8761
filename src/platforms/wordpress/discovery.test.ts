import { createServer, type RequestListener, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, describe, expect, test } from 'vitest'
import { FakePlatform, partOf } from '../../../test/support/fake-platform.ts'
import { ManualClock } from '../../core/clock.ts'
import type { AuthorizeRequest } from '../platform.ts'
import { wordpress } from './index.ts'
import { addressOf } from './site.ts'
import { slugFor } from './slug.ts'

const SETTINGS = { apiUrl: '', authUrl: '' }
const INDEX = { name: 'A site', namespaces: ['wp/v2'] }
const closing: (() => Promise<unknown>)[] = []

afterEach(async () => {
  for (const close of closing.splice(0)) await close()
})

/** A server that answers as a site might. */
async function serve(answer: RequestListener): Promise<string> {
  const server: Server = createServer(answer)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  closing.push(() => {
    server.closeAllConnections()
    return new Promise((resolve) => server.close(resolve))
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

function harness(url = 'http://127.0.0.1:1'): FakePlatform {
  const peer = FakePlatform.at(wordpress, url, new ManualClock(Date.UTC(2026, 10, 22, 12)))
  closing.push(() => peer.stop())
  return peer
}

const REQUEST: AuthorizeRequest = {
  state: 'a-state',
  redirectUri: 'https://crier.example/api/social-accounts/oauth/wordpress/callback',
  codeVerifier: 'v',
}

function authorize(peer: FakePlatform, more: Partial<AuthorizeRequest>) {
  return wordpress.oauth.authorize(peer.context, { ...REQUEST, ...more })
}

describe('addresses of sites', () => {
  test.each([
    ['example.com', 'https://example.com'],
    [' https://Example.com/ ', 'https://example.com'],
    ['https://example.com/blog/', 'https://example.com/blog'],
    ['example.com/blog/wp-admin/profile.php?x=1#y', 'https://example.com/blog'],
    ['https://example.com/wp-login.php', 'https://example.com'],
    ['https://example.com/index.php/wp-json/', 'https://example.com'],
    ['https://example.com:8443/de', 'https://example.com:8443/de'],
    ['http://localhost:8080', 'http://localhost:8080'],
    ['http://[::1]:8080/', 'http://[::1]:8080'],
  ])('%s', (text, url) => {
    expect(addressOf(SETTINGS, text)).toEqual({ url, userHost: true })
  })

  test.each([
    ['', 'site'],
    ['not a site', 'site'],
    ['word', 'site'],
    ['https://user:secret@example.com', 'site'],
    ['http://example.com', 'insecure'],
    ['http://10.0.0.1', 'insecure'],
    ['http://localhost.example.com', 'insecure'],
  ])('refuses “%s”', (text, code) => {
    expect(() => addressOf(SETTINGS, text)).toThrow(expect.objectContaining({ kind: 'validation', code }) as Error)
  })

  test('trusts what the operator has configured', () => {
    const settings = { apiUrl: 'http://intranet.example:8000', authUrl: '' }
    expect(addressOf(settings, 'http://intranet.example:8000/news')).toEqual({
      url: 'http://intranet.example:8000/news',
      userHost: false,
    })
  })
})

describe('finding the REST API', () => {
  /** A REST API that asks for approval at a page. */
  const api = (page: string): RequestListener => {
    return (request, reply) => {
      if (!/rest_route|wp-json/.test(request.url ?? '')) {
        reply.writeHead(200).end()
        return
      }
      const authentication = { 'application-passwords': { endpoints: { authorization: page } } }
      reply.end(JSON.stringify({ ...INDEX, authentication }))
    }
  }

  test('needs no Link header', async () => {
    const url = await serve(api('/wp-admin/authorize-application.php'))
    const started = await authorize(harness(url), { server: url })
    expect(started.secrets).toEqual({ server: url, root: `${url}/index.php?rest_route=/` })
    expect(started.url.startsWith(`${url}/wp-admin/authorize-application.php?`)).toBe(true)
  })

  test('follows redirects to the address of the site', async () => {
    const site = await serve((request, reply) => {
      if (request.url === '/de/')
        reply.setHeader('Link', '</de/wp-json/>; rel="https://api.w.org/", </x>; rel=shortlink')
      api('/de/wp-admin/authorize-application.php')(request, reply)
    })
    const old = await serve((_request, reply) => void reply.writeHead(301, { Location: `${site}/de/` }).end())
    const { secrets } = await authorize(harness(), { server: old })
    expect(secrets).toEqual({ server: `${site}/de`, root: `${site}/de/wp-json/` })
    const endless = await serve((request, reply) => void reply.writeHead(302, { Location: `${request.url}a/` }).end())
    await expect(authorize(harness(), { server: endless })).rejects.toMatchObject({ code: 'redirects' })
  })

  test('does not follow a redirect to an unencrypted address', async () => {
    const old = await serve((_request, reply) => void reply.writeHead(301, { Location: 'http://example.com/' }).end())
    await expect(authorize(harness(), { server: old })).rejects.toMatchObject({ code: 'insecure' })
  })

  test.each([
    ['a page', (_: unknown, reply: Parameters<RequestListener>[1]) => void reply.end('<h1>Hello</h1>')],
    ['a refusal', (_: unknown, reply: Parameters<RequestListener>[1]) => void reply.writeHead(403).end('{}')],
    ['another API', (_: unknown, reply: Parameters<RequestListener>[1]) => void reply.end('{"namespaces":[]}')],
  ])('refuses a server that answers with %s', async (_name, answer) => {
    const url = await serve(answer)
    await expect(authorize(harness(), { server: url })).rejects.toMatchObject({
      kind: 'validation',
      code: 'no_rest_api',
    })
  })

  test('says that a site has no application passwords', async () => {
    const url = await serve((_request, reply) => void reply.end(JSON.stringify({ ...INDEX, authentication: [] })))
    const error = { kind: 'unsupported', code: 'no_application_passwords' }
    await expect(authorize(harness(), { server: url })).rejects.toMatchObject(error)
    const fields = { site: url, username: 'ada', applicationPassword: 'abcd efgh' }
    await expect(wordpress.credentials.connect(harness().context, fields)).rejects.toMatchObject(error)
  })

  test('sends a browser only to an encrypted page', async () => {
    for (const page of ['http://example.com/wp-admin/authorize-application.php', 'javascript:alert(1)']) {
      const url = await serve(api(page))
      await expect(authorize(harness(), { server: url })).rejects.toMatchObject({ code: 'insecure' })
    }
  })
})

describe('the sign-in', () => {
  test('asks for a password with its own name and id, and takes the state back', async () => {
    const peer = await FakePlatform.start(wordpress)
    closing.push(() => peer.stop())
    const { url } = await authorize(peer, {})
    const params = Object.fromEntries(new URL(url).searchParams)
    expect(params).toEqual({
      app_name: 'Crier at 127.0.0.1, 2026-11-22 12:00:00',
      app_id: expect.stringMatching(/^[0-9a-f]{8}-[0-9a-f]{4}-5[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/) as string,
      success_url: `${REQUEST.redirectUri}?state=a-state`,
      reject_url: `${REQUEST.redirectUri}?success=false&state=a-state`,
    })
  })

  test('reads callbacks', () => {
    const { callback } = wordpress.oauth
    expect(callback?.({ site_url: 'https://a.example', user_login: 'ada', password: 'abc' })).toEqual({ code: 'abc' })
    expect(callback?.({ success: 'false' })).toEqual({ error: 'access_denied' })
    expect(callback?.({ success: 'false', error: 'disabled' })).toMatchObject({ error: 'disabled' })
    expect(callback?.({})).toEqual({ code: '' })
  })

  test('sends the password to the site of the link, whatever site the callback names', async () => {
    const peer = await FakePlatform.start(wordpress)
    closing.push(() => peer.stop())
    const got: string[] = []
    const other = await serve((request, reply) => {
      got.push(request.headers.authorization ?? '')
      reply.writeHead(404).end()
    })
    const { secrets, url } = await authorize(peer, {})
    const form = new URLSearchParams([...new URL(url).searchParams, ['account', 'ada'], ['decision', 'allow']])
    const { origin, pathname } = new URL(url)
    const reply = await fetch(`${origin}${pathname}`, { method: 'POST', body: form, redirect: 'manual' })
    const params = Object.fromEntries(new URL(reply.headers.get('location') ?? '').searchParams)
    const call = { ...REQUEST, code: params['password'] ?? '', secrets }
    const grant = await wordpress.oauth.exchange(peer.context, { ...call, params: { ...params, site_url: other } })
    expect(grant.credential).toMatchObject({ server: peer.running.url, login: 'ada' })
    expect(got).toEqual([])
    await expect(wordpress.oauth.exchange(peer.context, { ...call, params: {} })).rejects.toMatchObject({
      code: 'user_login',
    })
  })

  test('tells the operator that the callback must be encrypted', async () => {
    const site = 'https://site.example'
    const peer = harness(site)
    const context = {
      ...peer.context,
      http: {
        send: ({ method }: { readonly method?: string }) => {
          const endpoints = { authorization: `${site}/wp-admin/authorize-application.php` }
          const json = { ...INDEX, authentication: { 'application-passwords': { endpoints } } }
          return Promise.resolve({ status: 200, headers: {}, bytes: Buffer.alloc(0), json: method ? undefined : json })
        },
      } as unknown as typeof peer.context.http,
    }
    const request = { ...REQUEST, redirectUri: 'http://crier.example/callback', server: site }
    await expect(wordpress.oauth.authorize(context, request)).rejects.toMatchObject({
      kind: 'app_misconfigured',
      code: 'insecure_callback',
    })
    await expect(wordpress.oauth.authorize(context, { ...REQUEST, server: site })).resolves.toMatchObject({
      secrets: { server: site },
    })
  })

  test('asks for a site when neither the user nor the operator names one', async () => {
    const peer = harness()
    const context = { ...peer.context, settings: SETTINGS }
    await expect(wordpress.oauth.authorize(context, REQUEST)).rejects.toMatchObject({
      kind: 'validation',
      code: 'site',
    })
  })
})

describe('replies that are not of WordPress', () => {
  test.each([
    [413, 'validation'],
    [403, 'account_restricted'],
    [500, 'server_error'],
    [503, 'server_error'],
    [429, 'rate_limited'],
  ])('%d is %s', async (status, kind) => {
    const url = await serve((_request, reply) => void reply.writeHead(status).end('<html>A long page</html>'))
    const account = harness(url).as({ server: url, login: 'ada', accessToken: 'abcdefgh' }, 'site/1')
    const error = await wordpress.profile(account).catch((thrown: unknown) => thrown)
    expect(error).toMatchObject({ kind, httpStatus: status })
    expect((error as { detail?: string }).detail ?? '').toMatch(status === 429 ? /./ : /^(?!.*html).+\.$/)
  })

  test.each([
    [413, '<html>Too large</html>', 2_000_000, 1_999_999],
    // Such a small file was refused for another reason.
    [413, '<html>Too large</html>', 20_000, undefined],
    [400, { code: 'rest_upload_no_data', message: 'Keine Daten.' }, 2_000_000, 1_999_999],
    [500, { code: 'rest_upload_unknown_error', message: 'Größer als upload_max_filesize.' }, 2_000_000, 1_999_999],
    [500, { code: 'rest_upload_unknown_error', message: 'Dieser Dateityp ist verboten.' }, 2_000_000, undefined],
    // A network of sites states its limit.
    [400, { code: 'rest_upload_file_too_big', message: 'Höchstens 1500 KB.' }, 2_000_000, 1_536_000],
  ])('%d to a file of the site’s own limit: %j', async (status, body, bytes, mostBytes) => {
    const text = typeof body === 'string' ? body : JSON.stringify(body)
    const url = await serve((request, reply) => {
      if (request.method === 'GET') reply.end('[]')
      else request.resume().on('end', () => void reply.writeHead(status).end(text))
    })
    const peer = harness(url)
    const account = peer.as({ server: url, login: 'ada', accessToken: 'abcdefgh' }, 'site/1')
    const media = [peer.file({ kind: 'image', type: 'image/png' }, Buffer.alloc(bytes))]
    const error = await peer.publish(account, partOf('Text', { media })).catch((thrown: unknown) => thrown)
    expect(error).toMatchObject({ httpStatus: status, mayHaveHappened: false, mostBytes })
  })

  test('a page in place of JSON is an error, not an empty list', async () => {
    const url = await serve((_request, reply) => void reply.end('<html>Please wait</html>'))
    const peer = harness(url)
    const account = peer.as({ server: url, login: 'ada', accessToken: 'abcdefgh' }, 'site/1')
    await expect(peer.publish(account, partOf('Text'))).rejects.toMatchObject({ kind: 'unknown', code: 'not_json' })
  })

  test('an echo of the password is not kept', async () => {
    const url = await serve((request, reply) => {
      const message = `${request.headers.authorization} is ${Buffer.from((request.headers.authorization ?? '').slice(6), 'base64').toString()}`
      reply.writeHead(400).end(JSON.stringify({ code: 'rest_debug', message }))
    })
    const account = harness(url).as({ server: url, login: 'ada', accessToken: 'abcd efgh ijkl' }, 'site/1')
    await expect(wordpress.profile(account)).rejects.toMatchObject({ detail: 'Basic [redacted] is ada:[redacted]' })
  })

  test('a site without a trash deletes for good', async () => {
    const calls: string[] = []
    const url = await serve((request, reply) => {
      calls.push(`${request.method} ${request.url}`)
      const isForced = request.url?.includes('force=true') === true
      const body = isForced ? { deleted: true } : { code: 'rest_trash_not_supported', data: { status: 501 } }
      reply.writeHead(isForced ? 200 : 501).end(JSON.stringify(body))
    })
    const account = harness(url).as(
      { server: url, root: `${url}/wp-json/`, login: 'ada', accessToken: 'abc' },
      'site/1',
    )
    await wordpress.publishing.remove?.(account, { id: '7', url: null })
    expect(calls).toEqual(['DELETE /wp-json/wp/v2/posts/7', 'DELETE /wp-json/wp/v2/posts/7?force=true'])
  })
})

describe('addresses of posts', () => {
  const KEY = '019a0000-0000-7000-8000-000000000001'

  test.each([
    ['Hello, World!', /^hello-world-[0-9a-z]{8}$/],
    ['Crème brûlée: it’s “good”', /^creme-brulee-its-good-[0-9a-z]{8}$/],
    ['https://example.com/ only', /^only-[0-9a-z]{8}$/],
    ['日本語', /^日本語-[0-9a-z]{8}$/],
    ['🎉🎉', /^[0-9a-z]{8}$/],
    ['', /^[0-9a-z]{8}$/],
    ['word '.repeat(50), /^(?:word-){12}[0-9a-z]{8}$/],
  ])('%s', (words, expected) => {
    expect(slugFor(words, KEY)).toMatch(expected)
    expect(slugFor(words, KEY)).toBe(slugFor(words, KEY))
    expect(slugFor(words, `${KEY}0`)).not.toBe(slugFor(words, KEY))
    expect(encodeURIComponent(slugFor(words, KEY)).length).toBeLessThanOrEqual(200)
  })
})
