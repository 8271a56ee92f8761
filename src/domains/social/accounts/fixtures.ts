import { randomUUID } from 'node:crypto'
import type { App } from '../../../../test/support/app.ts'
import {
  inWorkspace,
  make,
  times,
  type Fixtures,
  type Lists,
  type Prepared,
  type Rows,
  type Stage,
} from '../../../../test/support/stage.ts'
import { connectAtSandbox, consentAtSandbox } from '../../../../test/support/sandbox-sign-in.ts'
import type * as childOperations from './children/operations.ts'
import type { ChildAccountData } from './children/schemas.ts'
import type * as keyOperations from './keys/operations.ts'
import type * as limitOperations from './limits/operations.ts'
import type * as operations from './operations.ts'
import type { SocialAccountData } from './schemas.ts'

type Operations = typeof operations & typeof childOperations & typeof keyOperations & typeof limitOperations

export const rows: Rows = { social_accounts: (stage) => account(stage) }

export const lists: Lists<Operations> = {
  listSocialAccounts: times((stage) => account(stage)),
  listConnectedPages: times(page),
}

export const fixtures: Fixtures<Operations> = {
  getOAuthUrl: async ({ app }) => ({ query: { instance: sandboxOf(app) } }),
  oauthCallback: (stage) => callbackOf(stage, 'mastodon'),
  atprotoCallback: (stage) => callbackOf(stage, 'bluesky'),
  connectAccount: async (stage) => ({ body: { ...inWorkspace(stage), platform: 'telegram', sandbox: true } }),
  unarchiveAccount: async (stage) => {
    const id = await account(stage)
    await act(stage, 'archive', id)
    return { path: { id }, once: true }
  },
  restoreAccount: async (stage) => {
    const id = await account(stage)
    await act(stage, 'remove', id)
    return { path: { id }, once: true }
  },
  archiveAccount: async (stage) => ({ path: { id: await account(stage) }, once: true }),
  listFacebookPages: async (stage) => ({ path: { id: await signedIn(stage, 'facebook') } }),
  connectFacebookPages: async (stage) => {
    const id = await signedIn(stage, 'facebook')
    return { path: { id }, body: { pageIds: [await firstChild(stage, `facebook/${id}/pages`)] } }
  },
  listLinkedInOrganizations: async (stage) => ({ path: { id: await signedIn(stage, 'linkedin') } }),
  connectLinkedInOrganizations: async (stage) => {
    const id = await signedIn(stage, 'linkedin')
    return { path: { id }, body: { organizationIds: [await firstChild(stage, `linkedin/${id}/organizations`)] } }
  },
  listPinterestBoards: async (stage) => ({ path: { id: await account(stage, 'pinterest') } }),
  createPinterestBoard: async (stage) => ({ path: { id: await account(stage, 'pinterest') }, once: true }),
  validateTikTokCreator: async (stage) => ({ path: { id: await account(stage, 'tiktok') } }),
}

/** Signs in at a sandbox. @returns the request with which the browser comes back */
async function callbackOf({ app, owner: { apiKey }, workspaceId }: Stage, platform: string): Promise<Prepared> {
  const { cookie, url } = await consentAtSandbox(app, { apiKey, workspaceId, platform })
  return { as: { headers: { cookie } }, query: Object.fromEntries(url.searchParams), once: true }
}

/** The sandbox that stands in for Mastodon. */
function sandboxOf(app: App): string {
  return app.node.resources.config.PLATFORMS['mastodon']?.apiUrl ?? ''
}

/** Connects a new sandbox account. */
function account(stage: Stage, platform = 'telegram'): Promise<string> {
  return make(stage, 'POST /api/social-accounts', { ...inWorkspace(stage), platform, sandbox: true })
}

/** Signs in at a platform with a new account. */
function signedIn({ app, owner: { apiKey }, workspaceId }: Stage, platform: string): Promise<string> {
  return connectAtSandbox(app, { apiKey, workspaceId, platform, account: `ada_${randomUUID().slice(0, 8)}` })
}

/** The first page or organization of a login that can be connected. */
async function firstChild({ app, owner }: Stage, path: string): Promise<string> {
  const reply = await app.send(`GET /api/social-accounts/${path}`, { apiKey: owner.apiKey })
  const child = (reply.body.data as ChildAccountData[]).find(({ blocked }) => blocked === null)
  if (child === undefined) throw new Error(`no account of the login can be connected: ${reply.text}`)
  return child.remoteId
}

/** Connects a page of a new login. */
async function page(stage: Stage): Promise<string> {
  const { app, owner } = stage
  const id = await signedIn(stage, 'facebook')
  const reply = await app.send(`POST /api/social-accounts/facebook/${id}/pages`, {
    apiKey: owner.apiKey,
    body: { pageIds: [await firstChild(stage, `facebook/${id}/pages`)] },
  })
  return (reply.body.data as SocialAccountData[])[0]?._id ?? ''
}

async function act({ app, owner }: Stage, verb: string, id: string): Promise<void> {
  const reply = await app.send(`POST /api/limits/accounts/{id}/${verb}`, { apiKey: owner.apiKey, path: { id } })
  if (reply.status !== 200) throw new Error(`${verb} for a fixture: ${reply.text}`)
}
