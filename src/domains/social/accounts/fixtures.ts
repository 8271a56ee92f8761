import type { App } from '../../../../test/support/app.ts'
import {
  inWorkspace,
  make,
  times,
  type Fixtures,
  type Lists,
  type Rows,
  type Stage,
} from '../../../../test/support/stage.ts'
import { consentAtSandbox } from '../../../../test/support/sandbox-sign-in.ts'
import type * as keyOperations from './keys/operations.ts'
import type * as limitOperations from './limits/operations.ts'
import type * as operations from './operations.ts'

type Operations = typeof operations & typeof keyOperations & typeof limitOperations

export const rows: Rows = { social_accounts: (stage) => account(stage) }

export const lists: Lists<Operations> = {
  listSocialAccounts: times((stage) => account(stage)),
}

export const fixtures: Fixtures<Operations> = {
  getOAuthUrl: async ({ app }) => ({ query: { instance: sandboxOf(app) } }),
  oauthCallback: async ({ app, owner: { apiKey }, workspaceId }) => {
    const { cookie, url } = await consentAtSandbox(app, { apiKey, workspaceId, platform: 'mastodon' })
    return { as: { headers: { cookie } }, query: Object.fromEntries(url.searchParams), once: true }
  },
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
}

/** The sandbox that stands in for Mastodon. */
function sandboxOf(app: App): string {
  return app.node.resources.config.PLATFORMS['mastodon']?.apiUrl ?? ''
}

/** Connects a new sandbox account. */
function account(stage: Stage, platform = 'telegram'): Promise<string> {
  return make(stage, 'POST /api/social-accounts', { ...inWorkspace(stage), platform, sandbox: true })
}

async function act({ app, owner }: Stage, verb: string, id: string): Promise<void> {
  const reply = await app.send(`POST /api/limits/accounts/{id}/${verb}`, { apiKey: owner.apiKey, path: { id } })
  if (reply.status !== 200) throw new Error(`${verb} for a fixture: ${reply.text}`)
}
