import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startApp, type App } from '../support/app.ts'
import { closePages, sharedBrowser } from '../support/browser.ts'
import { freeLoopbackPort } from '../../src/setup/free-port.ts'
import { PASSWORD, seedUser } from '../support/seed.ts'
import { newName } from '../support/stage.ts'

const POST = `const post = async (path, body, headers = {}) => {
  const json = body === undefined ? {} : { 'Content-Type': 'application/json' }
  return (await fetch(path, { method: 'POST', headers: { ...json, ...headers }, body: JSON.stringify(body) })).json()
}`

/** A passkey of chromium's virtual authenticator, registered and used by a page of this server. */
let app: App
let browser: Browser

beforeAll(async () => {
  const port = await freeLoopbackPort()
  app = await startApp({ env: { PORT: String(port), PUBLIC_URL: `http://localhost:${port}` } })
  browser = await sharedBrowser()
})
afterAll(async () => {
  await closePages(browser)
  await app?.stop()
})

/** A page with an authenticator that confirms everything, as a fingerprint reader would. */
async function open() {
  const context = await browser.newContext()
  const page = await context.newPage()
  const devtools = await context.newCDPSession(page)
  await devtools.send('WebAuthn.enable')
  const { authenticatorId } = await devtools.send('WebAuthn.addVirtualAuthenticator', {
    options: {
      protocol: 'ctap2',
      transport: 'internal',
      hasResidentKey: true,
      hasUserVerification: true,
      isUserVerified: true,
      automaticPresenceSimulation: true,
    },
  })
  await page.goto(`${app.config.PUBLIC_URL}/passkey`)
  return {
    page,
    passkeys: async () => (await devtools.send('WebAuthn.getCredentials', { authenticatorId })).credentials,
  }
}

test('a person adds a passkey on the page of this server and signs in with it', async () => {
  const { apiKey, email } = await seedUser(app, newName('person'))
  const { page, passkeys } = await open()
  const submit = async (password: string) => {
    await page.fill('input[name=email]', email)
    await page.fill('input[name=password]', password)
    await page.fill('input[name=name]', 'Laptop')
    await page.click('button')
  }
  await submit('not my password at all')
  await page.locator('[role=alert]:not(:empty)').waitFor()
  expect(await passkeys()).toEqual([])
  await submit(PASSWORD)
  await page.getByText('Passkey registered').waitFor()
  expect(await page.isVisible('form')).toBe(false)
  expect(await passkeys()).toEqual([expect.objectContaining({ isResidentCredential: true, rpId: 'localhost' })])
  const { body } = await app.send('GET /api/auth/passkeys', { apiKey })
  expect(body.data).toMatchObject([{ name: 'Laptop' }])

  const signedIn: unknown = await page.evaluate(`(async () => {
    ${POST}
    const { data } = await post('/api/auth/passkeys/sign-in/options')
    const publicKey = PublicKeyCredential.parseRequestOptionsFromJSON(data.options)
    const credential = await navigator.credentials.get({ publicKey })
    return post('/api/auth/passkeys/sign-in', { response: credential.toJSON() })
  })()`)
  expect(signedIn).toMatchObject({ status: true, data: { user: { email }, accessToken: expect.any(String) } })
})
