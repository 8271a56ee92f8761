import { createHmac } from 'node:crypto'
import type { ServerResponse } from 'node:http'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { HOUR, ManualClock, MINUTE, SECOND } from '../../src/core/clock.ts'
import { microsoftOptions } from '../../src/domains/identity/auth/providers/configured.ts'
import { OpenIdProvider } from '../../src/domains/identity/auth/providers/openid-provider.ts'
import { startApp, type App } from '../support/app.ts'
import { GITHUB_CLIENT, startGitHub, type FakeGitHub, type GitHubAccount } from '../support/github.ts'
import { CLIENT, OTHER_CLIENT, startOpenIdIssuer, type Account, type OpenIdIssuer } from '../support/openid-issuer.ts'
import { login, newAddress, refresh, signIn, signUp, tryCredential } from '../support/people.ts'
import type { Reply } from '../support/send.ts'

let app: App
let issuer: OpenIdIssuer
let github: FakeGitHub
// The issuer uses the system clock.
const clock = new ManualClock(new Date().getTime())

beforeAll(async () => {
  issuer = await startOpenIdIssuer()
  github = await startGitHub()
  const configured = [{ name: 'acme', issuer: issuer.url, clientId: CLIENT.id, clientSecret: CLIENT.secret }]
  app = await startApp({
    clock,
    env: {
      OIDC_ISSUERS: JSON.stringify(configured),
      GITHUB_CLIENT_ID: GITHUB_CLIENT.id,
      GITHUB_CLIENT_SECRET: GITHUB_CLIENT.secret,
      GITHUB_URL: github.url,
    },
  })
})
afterAll(async () => {
  await app?.stop()
  await issuer?.close()
  await github?.close()
})
afterEach(() => issuer.fail(undefined))

let count = 0
const someone = (email = newAddress(), verified = true): Account => ({
  sub: `subject-${(count += 1)}`,
  email,
  email_verified: verified,
  name: 'Grace Hopper',
})

const send = (body: object, provider = 'acme'): Promise<Reply> =>
  app.send('POST /api/auth/oauth/{provider}', { path: { provider }, body })

const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
const seconds = () => Math.floor(clock.now() / SECOND)
const claims = (account: Account, more: object = {}) => ({
  ...account,
  iss: issuer.url,
  aud: CLIENT.id,
  iat: seconds(),
  exp: seconds() + 600,
  ...more,
})

describe('with an OpenID Connect issuer', () => {
  test('an ID token creates an account, and the next token signs in to it', async () => {
    const grace = someone()
    const first = await send({ idToken: await issuer.idToken(grace, { nonce: 'n-0001' }), nonce: 'n-0001' })
    expect(first.status, first.text).toBe(200)
    expect(first.body.data).toMatchObject({ created: true, expiresIn: 900 })
    expect(first.body.data.user).toMatchObject({ email: grace.email, name: 'Grace Hopper', emailVerified: true })
    expect(await tryCredential(app, { token: first.body.data.accessToken })).toBe('200')
    expect((await app.outbox.newest(grace.email ?? '')).subject).toContain('Welcome')
    // Accounts are found by subject, so a new address at the provider changes nothing.
    const moved = { ...grace, email: newAddress() }
    const second = await send({ idToken: await issuer.idToken(moved, { nonce: 'n-0002' }), nonce: 'n-0002' })
    expect(second.body.data).toMatchObject({ created: false })
    expect(second.body.data.user._id).toBe(first.body.data.user._id)
    expect(second.body.data.user.email).toBe(grace.email)
  })

  test('a code with its PKCE verifier signs in once', async () => {
    const grace = someone()
    const proof = await issuer.code(grace)
    const first = await send(proof)
    expect(first.status, first.text).toBe(200)
    expect(first.body.data.user.email).toBe(grace.email)
    const again = await send(proof)
    expect(again.status).toBe(401)
    expect(again.body.code).toBe('provider_sign_in_failed')
  })

  test('a code is refused with another verifier, redirect URI or nonce', async () => {
    const proof = await issuer.code(someone())
    expect((await send({ ...proof, codeVerifier: 'x'.repeat(43) })).body.code).toBe('provider_sign_in_failed')
    const second = await issuer.code(someone())
    expect((await send({ ...second, redirectUri: 'http://localhost:7777/elsewhere' })).body.code).toBe(
      'provider_sign_in_failed',
    )
    const third = await issuer.code(someone(), { nonce: 'the right one' })
    expect((await send({ ...third, nonce: 'another one' })).body.code).toBe('provider_sign_in_failed')
  })

  test('concurrent first sign-ins create one account', async () => {
    const grace = someone()
    const tokens = await Promise.all(
      [1, 2, 3].map(async (n) => ({
        nonce: `both ${n} ${grace.sub}`,
        idToken: await issuer.idToken(grace, { nonce: `both ${n} ${grace.sub}` }),
      })),
    )
    const replies = await Promise.all(tokens.map((proof) => send(proof)))
    expect(replies.map(({ status }) => status)).toEqual([200, 200, 200])
    expect(new Set(replies.map(({ body }) => body.data.user._id)).size).toBe(1)
    expect(replies.filter(({ body }) => body.data.created)).toHaveLength(1)
  })
})

describe('an ID token is refused', () => {
  const refused = async (body: object, why: RegExp) => {
    const reply = await send(body)
    expect(reply.status, reply.text).toBe(401)
    expect(reply.body.code).toBe('provider_sign_in_failed')
    expect(reply.body.message).toMatch(why)
  }

  test('when it was made for another application', async () => {
    const idToken = await issuer.idToken(someone(), { nonce: 'n-aud', client: OTHER_CLIENT })
    await refused({ idToken, nonce: 'n-aud' }, /another application/)
    const grace = someone()
    await refused({ idToken: await issuer.sign(claims(grace, { aud: [CLIENT.id, 'x'] })) }, /another application/)
    await refused({ idToken: await issuer.sign(claims(grace, { azp: 'x' })) }, /another application/)
  })

  test('when it comes from another issuer', async () => {
    await refused(
      { idToken: await issuer.sign(claims(someone(), { iss: 'https://accounts.google.com' })) },
      /another issuer/,
    )
    const other = await startOpenIdIssuer()
    const idToken = await other.idToken(someone(), { nonce: 'n-iss' })
    await other.close()
    await refused({ idToken, nonce: 'n-iss' }, /another issuer|does not publish/)
  })

  test('when it has expired', async () => {
    const grace = someone()
    await refused({ idToken: await issuer.sign(claims(grace, { exp: seconds() - 61 })) }, /expired/)
    const { exp: _exp, ...endless } = claims(grace)
    await refused({ idToken: await issuer.sign(endless) }, /claim exp/)
  })

  test('when it was used before, with or without a nonce', async () => {
    const idToken = await issuer.idToken(someone(), { nonce: 'n-replay' })
    expect((await send({ idToken, nonce: 'n-replay' })).status).toBe(200)
    await refused({ idToken, nonce: 'n-replay' }, /already used/)
    const bare = await issuer.sign(claims(someone()))
    const replies = await Promise.all([send({ idToken: bare }), send({ idToken: bare }), send({ idToken: bare })])
    expect(replies.map(({ status }) => status).sort((a, b) => a - b)).toEqual([200, 401, 401])
  })

  test('when its nonce is different or missing', async () => {
    const idToken = await issuer.idToken(someone(), { nonce: 'n-mine' })
    await refused({ idToken, nonce: 'n-theirs' }, /nonce/)
    await refused({ idToken }, /nonce/)
    await refused({ idToken: await issuer.sign(claims(someone())), nonce: 'n-none' }, /nonce/)
  })

  test('when it is not signed, or not with a published key', async () => {
    const whole = claims(someone())
    await refused({ idToken: `${part({ alg: 'none' })}.${part(whole)}.` }, /not signed|malformed/)
    const signed = `${part({ alg: 'HS256' })}.${part(whole)}`
    const mac = createHmac('sha256', CLIENT.secret).update(signed).digest('base64url')
    await refused({ idToken: `${signed}.${mac}` }, /not signed with an accepted algorithm/)
    const genuine = await issuer.sign(whole)
    const [header, , signature] = genuine.split('.')
    await refused({ idToken: `${header}.${part({ ...whole, sub: 'another user' })}.${signature}` }, /signature/)
    await refused({ idToken: 'this is no token at all' }, /malformed/)
  })
})

describe('the keys of an issuer', () => {
  test('are reloaded when a token names an unknown key', async () => {
    await send({ idToken: await issuer.sign(claims(someone())) })
    clock.advance(11 * SECOND)
    await issuer.rotateKeys()
    const reply = await send({ idToken: await issuer.sign(claims(someone())) })
    expect(reply.status, reply.text).toBe(200)
  })

  test('are not reloaded for every token that names an unknown key', async () => {
    clock.advance(MINUTE)
    await send({ idToken: await issuer.sign(claims(someone())) })
    const before = issuer.requests.filter((request) => request === 'GET /jwks').length
    const [, payload, signature] = (await issuer.sign(claims(someone()))).split('.')
    const unknown = `${part({ alg: 'ES256', kid: 'unheard-of' })}.${payload}.${signature}`
    for (let tries = 0; tries < 10; tries += 1) expect((await send({ idToken: unknown })).status).toBe(401)
    expect(issuer.requests.filter((request) => request === 'GET /jwks').length).toBeLessThanOrEqual(before + 1)
  })
})

describe('provider failures', () => {
  test('return 503 with Retry-After for metadata, keys and codes until the provider recovers', async () => {
    const proof = await issuer.code(someone())
    issuer.fail((_request, response) => response.writeHead(500).end('<html>broken</html>'))
    const code = await send(proof)
    expect(code.status).toBe(503)
    expect(code.body.code).toBe('provider_unavailable')
    expect(Number(code.headers.get('retry-after'))).toBeGreaterThan(0)
    clock.advance(2 * HOUR)
    const idToken = await issuer.sign(claims(someone()))
    expect((await send({ idToken })).body.code).toBe('provider_unavailable')
    issuer.fail((request) => request.socket.destroy())
    expect((await send({ idToken })).body.code).toBe('provider_unavailable')
    issuer.fail(undefined)
    expect((await send({ idToken })).status).toBe(200)
  })

  test('time out when the provider hangs', async () => {
    clock.advance(2 * HOUR)
    issuer.fail(() => undefined)
    expect((await send({ idToken: await issuer.sign(claims(someone())) })).body.code).toBe('provider_unavailable')
  })

  test('include redirects and metadata that name another issuer', async () => {
    const metadata = (await (await fetch(`${issuer.url}/.well-known/openid-configuration`)).json()) as object
    const instead = async (respond: (response: ServerResponse) => unknown) => {
      clock.advance(2 * HOUR)
      issuer.fail((request, response) => {
        if (request.url === '/.well-known/openid-configuration') respond(response)
        else if (request.url === '/moved') response.end(JSON.stringify(metadata))
        else issuer.handle(request, response)
      })
      return (await send({ idToken: await issuer.sign(claims(someone())) })).body.code
    }
    expect(await instead((response) => response.writeHead(302, { Location: '/moved' }).end())).toBe(
      'provider_unavailable',
    )
    const impostor = { ...metadata, issuer: 'https://evil.example' }
    expect(await instead((response) => response.end(JSON.stringify(impostor)))).toBe('provider_unavailable')
    const elsewhere = { ...metadata, jwks_uri: 'file:///etc/passwd' }
    expect(await instead((response) => response.end(JSON.stringify(elsewhere)))).toBe('provider_unavailable')
    expect(await instead((response) => response.end(JSON.stringify(metadata)))).toBeUndefined()
  })
})

describe('an existing account', () => {
  test('is linked when both sides have verified the address, and keeps its credentials', async () => {
    const ada = await signIn(app)
    const account = someone(ada.email.toUpperCase())
    const reply = await send({ idToken: await issuer.sign(claims(account)) })
    expect(reply.status, reply.text).toBe(200)
    expect(reply.body.data).toMatchObject({ created: false })
    expect(reply.body.data.user._id).toBe(ada.id)
    expect(await tryCredential(app, { apiKey: ada.apiKey })).toBe('200')
    expect((await login(app, ada.email, ada.password)).status).toBe(200)
    expect((await app.outbox.newest(ada.email, /was added/)).text).toContain('acme')
  })

  test('is neither linked nor created when the provider has not verified the address', async () => {
    const ada = await signIn(app)
    const there = await send({ idToken: await issuer.sign(claims(someone(ada.email, false))) })
    const nowhere = await send({ idToken: await issuer.sign(claims(someone(newAddress(), false))) })
    for (const reply of [there, nowhere]) {
      expect(reply.status).toBe(403)
      expect(reply.body.code).toBe('provider_email_unverified')
    }
    expect(there.body.message).toBe(nowhere.body.message)
    const rows = await app.database.rows('select 1 from identities where user_id = $1', [ada.id])
    expect(rows).toEqual([])
  })

  test('loses the credentials of a sign-up that was never confirmed', async () => {
    const squatter = await signUp(app)
    expect(await tryCredential(app, { apiKey: squatter.apiKey })).toBe('200')
    const reply = await send({ idToken: await issuer.sign(claims(someone(squatter.email))) })
    expect(reply.body.data.user).toMatchObject({ _id: squatter.id, emailVerified: true, apiKeyPrefix: null })
    expect(await tryCredential(app, { apiKey: squatter.apiKey })).toBe('401 invalid_credential')
    expect((await login(app, squatter.email, squatter.password)).body.code).toBe('wrong_login')
    expect((await refresh(app, reply.body.data.refreshToken)).status).toBe(200)
  })
})

describe('a sign-in request', () => {
  test('returns 404 for a provider that is not configured', async () => {
    const reply = await send({ idToken: 'x'.repeat(30) }, 'google')
    expect(reply.status).toBe(404)
    expect(reply.body.code).toBe('provider_not_configured')
    expect(reply.body.message).toContain('acme, github')
  })

  test('requires a token, or a code with its verifier and redirect URI', async () => {
    expect((await send({})).body.code).toBe('validation_failed')
    expect((await send({ idToken: 'x'.repeat(30), code: 'x' })).body.code).toBe('validation_failed')
    const { body } = await send({ code: 'x' })
    expect(body.errors.map(({ path }: { path: string }) => path)).toEqual(['/body/codeVerifier', '/body/redirectUri'])
    expect((await send({ idToken: 'x'.repeat(30) }, 'github')).body.code).toBe('validation_failed')
  })
})

describe('with GitHub', () => {
  const octocat = (email: string, verified = true): GitHubAccount => ({
    id: (count += 1),
    login: 'octocat',
    name: null,
    emails: [
      { email: newAddress(), primary: false, verified: true },
      { email, primary: true, verified },
    ],
  })

  test('a code creates an account with the primary address and later finds it by id', async () => {
    const email = newAddress()
    const account = octocat(email)
    const proof = github.authorize(account)
    const first = await send(proof, 'github')
    expect(first.status, first.text).toBe(200)
    expect(first.body.data).toMatchObject({ created: true, user: { email, name: 'octocat', emailVerified: true } })
    expect((await send(proof, 'github')).body.code).toBe('provider_sign_in_failed')
    const renamed = { ...account, login: 'renamed', emails: [] }
    const second = await send(github.authorize(renamed), 'github')
    expect(second.body.data).toMatchObject({ created: false, user: { _id: first.body.data.user._id } })
  })

  test('a code is refused with another verifier or redirect URI', async () => {
    const proof = github.authorize(octocat(newAddress()))
    expect((await send({ ...proof, codeVerifier: 'x'.repeat(43) }, 'github')).body.code).toBe('provider_sign_in_failed')
    expect((await send({ ...proof, redirectUri: 'http://localhost/x' }, 'github')).body.code).toBe(
      'provider_sign_in_failed',
    )
  })

  test('an address that is unverified or hidden creates no account', async () => {
    const unverified = await send(github.authorize(octocat(newAddress(), false)), 'github')
    expect(unverified.body.code).toBe('provider_email_unverified')
    const untold = await send(github.authorize(octocat(newAddress()), 'read:user'), 'github')
    expect(untold.body.code).toBe('provider_email_unverified')
  })
})

describe('with Microsoft', () => {
  const PERSONAL = '9188040d-6c67-4c5b-b112-36a304b66dad'
  const WORK = '72f988bf-86f1-41af-91ab-2d7cd011db47'

  /** A shared tenant whose metadata say `{tenantid}`, in front of the issuer's keys. */
  const microsoft = (tenant: string) => {
    issuer.fail((request, response) => {
      const { pathname } = new URL(request.url ?? '/', issuer.url)
      const published = tenant === 'consumers' ? PERSONAL : '{tenantid}'
      if (pathname === `/${tenant}/v2.0/.well-known/openid-configuration`) {
        response.end(
          JSON.stringify({
            issuer: `${issuer.url}/${published}/v2.0`,
            token_endpoint: `${issuer.url}/token`,
            jwks_uri: `${issuer.url}/jwks`,
          }),
        )
        return
      }
      issuer.handle(request, response)
    })
    return new OpenIdProvider(microsoftOptions(tenant, CLIENT.id, CLIENT.secret, issuer.url), clock)
  }
  const token = (tid: string, more: object = {}) =>
    issuer.sign(claims(someone(), { email_verified: undefined, iss: `${issuer.url}/${tid}/v2.0`, tid, ...more }))

  test('each tenant issues tokens under its own URL only', async () => {
    const provider = microsoft('common')
    const known = await provider.prove({ idToken: await token(WORK) })
    expect(known.issuer).toBe(`${issuer.url}/${WORK}/v2.0`)
    await expect(
      provider.prove({ idToken: await token(WORK, { iss: `${issuer.url}/${PERSONAL}/v2.0` }) }),
    ).rejects.toThrow(/another issuer/)
    await expect(provider.prove({ idToken: await token(WORK, { tid: undefined }) })).rejects.toThrow(/another issuer/)
  })

  test('the address of a work account counts only when Microsoft has verified its domain', async () => {
    const provider = microsoft('common')
    expect((await provider.prove({ idToken: await token(WORK) })).emailVerified).toBe(false)
    expect((await provider.prove({ idToken: await token(WORK, { xms_edov: false }) })).emailVerified).toBe(false)
    expect((await provider.prove({ idToken: await token(WORK, { xms_edov: true }) })).emailVerified).toBe(true)
    expect((await provider.prove({ idToken: await token(PERSONAL) })).emailVerified).toBe(true)
  })

  test('a work tenant refuses personal accounts, and the reverse', async () => {
    await expect(microsoft('organizations').prove({ idToken: await token(PERSONAL) })).rejects.toThrow(/another issuer/)
    await expect(microsoft('consumers').prove({ idToken: await token(WORK) })).rejects.toThrow(/another issuer/)
    expect((await microsoft('consumers').prove({ idToken: await token(PERSONAL) })).emailVerified).toBe(true)
  })
})

test('no secret of a provider or front end is logged', async () => {
  const proof = await issuer.code(someone())
  const idToken = await issuer.idToken(someone(), { nonce: 'n-log' })
  await send(proof)
  await send({ idToken, nonce: 'n-log' })
  const logged = JSON.stringify(app.logs)
  for (const secret of [proof.code, proof.codeVerifier, idToken, CLIENT.secret]) expect(logged).not.toContain(secret)
})
