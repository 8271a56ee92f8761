import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startApp, type App } from '../support/app.ts'
import { launchBrowser } from '../support/browser.ts'
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
  browser = await launchBrowser()
})
afterAll(async () => {
  await browser?.close()
  await app?.stop()
})

test('a person registers a passkey in chromium and signs in with it', async () => {
  const { apiKey, email } = await seedUser(app, newName('person'))
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
  await page.goto(`${app.config.PUBLIC_URL}/reset-password`)

  // Scripts as text, because the types of these tests are those of Node and not of pages.
  const registered: unknown = await page.evaluate(`(async () => {
    ${POST}
    const headers = { 'x-api-key': ${JSON.stringify(apiKey)} }
    const { data } = await post('/api/auth/passkeys/options', { password: ${JSON.stringify(PASSWORD)} }, headers)
    const publicKey = PublicKeyCredential.parseCreationOptionsFromJSON(data.options)
    const credential = await navigator.credentials.create({ publicKey })
    return post('/api/auth/passkeys', { response: credential.toJSON() }, headers)
  })()`)
  expect(registered).toMatchObject({ status: true, data: { name: expect.stringContaining('Chrom') } })
  const { credentials } = await devtools.send('WebAuthn.getCredentials', { authenticatorId })
  expect(credentials).toEqual([expect.objectContaining({ isResidentCredential: true, rpId: 'localhost' })])

  const signedIn: unknown = await page.evaluate(`(async () => {
    ${POST}
    const { data } = await post('/api/auth/passkeys/sign-in/options')
    const publicKey = PublicKeyCredential.parseRequestOptionsFromJSON(data.options)
    const credential = await navigator.credentials.get({ publicKey })
    return post('/api/auth/passkeys/sign-in', { response: credential.toJSON() })
  })()`)
  expect(signedIn).toMatchObject({ status: true, data: { user: { email }, accessToken: expect.any(String) } })
})
