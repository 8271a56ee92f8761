import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { inviteMember } from '../../src/domains/workspace/team/operations.ts'
import { startApp, type App } from '../support/app.ts'
import { closePages, foreignRequests, openPage, sharedBrowser } from '../support/browser.ts'
import { PASSWORD } from '../support/people.ts'
import { World } from '../support/world.ts'

let app: App
let world: World
let browser: Browser
beforeAll(async () => {
  app = await startApp()
  browser = await sharedBrowser()
  world = new World(app)
  await world.user('ada', { plan: 'business' })
  await world.workspace('acme', 'ada')
})
afterAll(async () => {
  await closePages(browser)
  await app?.stop()
})

/** The link in the newest mail to an address, as a path of this server. */
async function linkTo(email: string, subject: RegExp): Promise<string> {
  const mail = await app.outbox.newest(email, subject)
  const link = /https?:\/\/\S+\/(?:reset-password|invitations)\S+/.exec(mail.text ?? '')?.[0]
  const { pathname, search } = new URL(link ?? '')
  return pathname + search
}

test('the link of a reset mail opens a page that sets a new password', async () => {
  const { email } = await world.user('rita')
  await app.send('POST /api/auth/forgot-password', { body: { email } })
  const { page, requested, complaints } = await openPage(browser, app.url + (await linkTo(email, /reset/i)))
  expect(new URL(page.url()).search, 'the token is not kept in the history').toBe('')
  await page.getByLabel('New password').fill('short')
  await page.getByRole('button', { name: 'Change the password' }).click()
  await page
    .getByRole('alert')
    .filter({ hasText: /password/i })
    .waitFor()
  await page.getByLabel('New password').fill('an entirely different passphrase')
  await page.getByRole('button', { name: 'Change the password' }).click()
  await page.getByRole('status').filter({ hasText: 'The password was changed' }).waitFor()
  const login = { body: { email, password: 'an entirely different passphrase' } }
  expect((await app.send('POST /api/auth/login', login)).status).toBe(200)
  expect(foreignRequests(requested, app.url)).toEqual([])
  expect(complaints.filter((text) => !/status of 400/.test(text))).toEqual([])
  await page.close()
})

test('the link of an invitation opens a page that describes and accepts it', async () => {
  const { email } = await world.user('ivy')
  const invited = await world
    .as('ada')
    .call(inviteMember, { path: { workspaceId: world.id('acme') }, body: { email, role: 'editor' } })
  expect(invited.status).toBe(201)
  await world.as('ivy').call('PATCH /api/users/me/settings/ui', { body: { theme: 'dark', density: 'compact' } })
  const { page, complaints } = await openPage(browser, app.url + (await linkTo(email, /invites you/)))
  await page.getByText(/workspace “acme”, role editor/i).waitFor()
  const look = () =>
    page.evaluate(`[getComputedStyle(document.body).color, getComputedStyle(document.body).lineHeight]`)
  expect(await look()).toEqual(['rgb(0, 0, 0)', '24px'])
  await page.getByLabel('Email').fill(email)
  await page.getByLabel('Password').fill(PASSWORD)
  await page.getByRole('button', { name: 'Accept' }).click()
  await page.getByRole('status').filter({ hasText: 'Invitation accepted' }).waitFor()
  // The page knows its user now.
  expect(await look()).toEqual(['rgb(255, 255, 255)', '20px'])
  expect(complaints).toEqual([])
  await page.reload()
  await page.getByRole('alert').filter({ hasText: /\w/ }).waitFor()
  await page.close()
})
