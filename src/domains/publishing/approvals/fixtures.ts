import {
  inWorkspace,
  make,
  newName,
  times,
  type Fixtures,
  type Lists,
  type Stage,
} from '../../../../test/support/stage.ts'
import type * as operations from './operations.ts'

export const fixtures: Fixtures<typeof operations> = {
  getApprovalFlow: async (stage) => {
    await flow(stage)
    return {}
  },
  replaceApprovalFlow: async (stage) => {
    await flow(stage)
    return {}
  },
  deleteApprovalFlow: async (stage) => {
    await flow(stage)
    return { once: true }
  },
  submitForApproval: async (stage) => {
    await flow(stage)
    const id = await post(stage)
    return { path: { id }, once: true }
  },
  submitPosts: async (stage) => {
    await flow(stage)
    return { body: { ...inWorkspace(stage), postIds: [await post(stage)] } }
  },
  decideApprovals: async (stage) => ({
    body: { ...inWorkspace(stage), postIds: [await submitted(stage)], decision: 'approve' },
  }),
  undoDecisions: async (stage) => {
    const body = { ...inWorkspace(stage), postIds: [await submitted(stage)], decision: 'approve' }
    const reply = await stage.app.send('POST /api/posts/bulk/approval', { apiKey: stage.caller.apiKey, body })
    return { path: { changeId: (reply.body.data as { changeId: string }).changeId }, once: true }
  },
  withdrawFromApproval: async (stage) => ({ path: { id: await submitted(stage) }, once: true }),
  decideApproval: async (stage) => ({ path: { id: await submitted(stage) }, once: true }),
  getApprovalChanges: async (stage) => ({ path: { id: await ready(stage) } }),
  pingApprovers: async (stage) => ({ path: { id: await submitted(stage) }, once: true }),
  releasePost: async (stage) => ({ path: { id: await ready(stage) }, once: true }),
  resolveApprovalStage: async (stage) => ({ path: { postId: await submitted(stage) }, once: true }),
  revokeGuestLink: async (stage) => ({ path: { id: (await guestLink(stage)).id } }),
  openGuestLink: async (stage) => ({ path: { token: (await guestLink(stage)).token } }),
  sendGuestDecision: async (stage) => {
    const { token } = await guestLink(stage, { passcode: 'open sesame' })
    const page = await stage.app.send('GET /api/guests/{token}', { path: { token } })
    const form = /name="form" value="([^"]+)"/.exec(page.text)?.[1] ?? ''
    return { path: { token }, body: `form=${form}&passcode=open+sesame`, once: true }
  },
}

export const lists: Lists<typeof operations> = { listGuestLinks: times((stage) => guestLink(stage)) }

/** A link, with the token in its address. */
async function guestLink(
  { app, owner, workspaceId }: Stage,
  extra: object = {},
): Promise<{ id: string; token: string }> {
  const reply = await app.send('POST /api/approvals/{workspaceId}/guests', {
    apiKey: owner.apiKey,
    path: { workspaceId },
    body: { name: newName('person'), ...extra },
  })
  if (reply.status !== 201) throw new Error(`a link for a fixture: ${reply.text}`)
  const { guest, url } = reply.body.data
  return { id: guest._id, token: new URL(url).pathname.split('/').at(-1) ?? '' }
}

/** A flow of one stage, in which owners decide, and the caller if they can. */
async function flow({ app, caller, owner, workspaceId }: Stage): Promise<void> {
  const member = await app.composition.services.workspaces.memberships.find(workspaceId, caller.id)
  const userIds = member?.scopes.has('posts:approve') === true ? [caller.id] : []
  const reply = await app.send('PUT /api/approvals/{workspaceId}/flow', {
    apiKey: owner.apiKey,
    path: { workspaceId },
    body: {
      stages: [{ name: 'Legal', approvers: { userIds, roleIds: ['owner'] }, autoSchedule: false }],
      authorsMayApprove: true,
    },
  })
  if (reply.status !== 200) throw new Error(`a flow for a fixture: ${reply.text}`)
}

async function post(stage: Stage): Promise<string> {
  const accountId = await make(stage, 'POST /api/social-accounts', {
    ...inWorkspace(stage),
    platform: 'mastodon',
    sandbox: true,
  })
  return make(stage, 'POST /api/posts', {
    ...inWorkspace(stage),
    content: newName('post'),
    targets: [{ accountId }],
  })
}

/** A post in review. */
async function submitted(stage: Stage): Promise<string> {
  await flow(stage)
  const id = await post(stage)
  await act(stage, 'POST /api/posts/{id}/submit', id)
  return id
}

/** An approved post that is held. */
async function ready(stage: Stage): Promise<string> {
  const id = await submitted(stage)
  await act(stage, 'POST /api/posts/{id}/approval', id, { decision: 'approve' })
  return id
}

async function act({ app, owner }: Stage, route: string, id: string, body?: object): Promise<void> {
  const reply = await app.send(route, { apiKey: owner.apiKey, path: { id }, ...(body && { body }) })
  if (reply.status !== 200) throw new Error(`${route} for a fixture: ${reply.text}`)
}
