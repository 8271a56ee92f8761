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
import type * as limitOperations from './limits/operations.ts'
import type * as operations from './operations.ts'

type Operations = typeof operations & typeof limitOperations

export const rows: Rows = { social_accounts: account }

export const lists: Lists<Operations> = { listSocialAccounts: times(account) }

export const fixtures: Fixtures<Operations> = {
  getOAuthUrl: async ({ app }) => ({ query: { instance: sandboxOf(app) } }),
  oauthCallback: async (stage) => {
    const { app, owner, workspaceId } = stage
    const begun = await app.send('GET /api/social-accounts/oauth/{platform}/url', {
      apiKey: owner.apiKey,
      path: { platform: 'mastodon' },
      query: { workspaceId, instance: sandboxOf(app) },
    })
    const consent = new URL(begun.body.data.url as string)
    const body = new URLSearchParams([...consent.searchParams, ['account', 'sandbox'], ['decision', 'allow']])
    const decided = await fetch(`${consent.origin}${consent.pathname}`, { method: 'POST', body, redirect: 'manual' })
    const back = new URL(decided.headers.get('location') ?? '')
    const cookie = (begun.headers.get('set-cookie') ?? '').split(';')[0] ?? ''
    return { as: { headers: { cookie } }, query: Object.fromEntries(back.searchParams), once: true }
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
function account(stage: Stage): Promise<string> {
  return make(stage, 'POST /api/social-accounts', { ...inWorkspace(stage), platform: 'telegram', sandbox: true })
}

async function act({ app, owner }: Stage, verb: string, id: string): Promise<void> {
  const reply = await app.send(`POST /api/limits/accounts/{id}/${verb}`, { apiKey: owner.apiKey, path: { id } })
  if (reply.status !== 200) throw new Error(`${verb} for a fixture: ${reply.text}`)
}
