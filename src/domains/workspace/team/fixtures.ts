import { seedUser, seedWorkspace } from '../../../../test/support/seed.ts'
import {
  make,
  member,
  newAddress,
  newName,
  times,
  type Fixtures,
  type Lists,
  type Prepared,
  type Stage,
} from '../../../../test/support/stage.ts'
import { invitationToken } from '../../../../test/support/team.ts'
import type * as operations from './operations.ts'

export const fixtures: Fixtures<typeof operations> = {
  getInvitation: async (stage) => ({ path: { token: (await invitation(stage)).token } }),
  acceptInvitation: (stage) => answerInvitation(stage, 'token'),
  declineInvitation: (stage) => answerInvitation(stage, 'id'),
  // The caller has only team:manage, so they cannot grant more.
  inviteMember: async (stage) => ({ body: { email: newAddress(), roleId: await emptyRole(stage) } }),
  revokeInvitation: async (stage) => ({ path: { id: (await invitation(stage)).id } }),
  resendInvitation: async (stage) => ({ path: { id: (await invitation(stage)).id } }),
  updateMember: async (stage) => ({ path: { userId: await member(stage) }, body: { scopes: ['team:manage'] } }),
  removeMember: async (stage) => ({ path: { userId: await member(stage) } }),
  leaveWorkspace: async () => ({ once: true }),
  createRole: async () => ({ body: { name: newName('role'), scopes: ['team:manage'] } }),
  updateRole: async (stage) => ({ path: { id: await emptyRole(stage) }, body: { scopes: ['team:manage'] } }),
  deleteRole: async (stage) => ({
    path: { id: await emptyRole(stage) },
    query: { replaceWith: await emptyRole(stage) },
  }),
  getGroup: async (stage) => ({ path: { id: await group(stage) } }),
  createGroup: async () => ({ body: { name: newName('group'), memberIds: [], scopes: ['team:manage'] } }),
  updateGroup: async (stage) => ({ path: { id: await group(stage) }, body: { name: newName('group') } }),
  deleteGroup: async (stage) => ({ path: { id: await group(stage) } }),
}

export const lists: Lists<typeof operations> = {
  listMyInvitations: async (stage, many) => {
    const { apiKey, email } = await seedUser(stage.app, newName('person'))
    for (let made = 0; made < many; made += 1) {
      const workspaceId = await seedWorkspace(stage.app, newName('workspace'), stage.owner)
      await invitation({ ...stage, workspaceId }, email)
    }
    return { as: { apiKey } }
  },
  listInvitations: times((stage) => invitation(stage)),
  listGroups: times(group),
  listMembers: times(member),
}

function emptyRole(stage: Stage): Promise<string> {
  return make(stage, 'POST /api/team/{workspaceId}/roles', { name: newName('role'), scopes: [] })
}

export function group(stage: Stage): Promise<string> {
  return make(stage, 'POST /api/team/{workspaceId}/groups', { name: newName('group'), memberIds: [] })
}

async function invitation(stage: Stage, email = newAddress()): Promise<{ id: string; token: string }> {
  const body = { email, roleId: await emptyRole(stage) }
  const id = await make(stage, 'POST /api/team/{workspaceId}/invitations', body)
  return { id, token: await invitationToken(stage.app, email) }
}

/** Answers an invitation by the token of its mail, or by its id in the invitee's list. */
async function answerInvitation(stage: Stage, by: 'token' | 'id'): Promise<Prepared> {
  const { apiKey, email } = await seedUser(stage.app, newName('person'))
  return { as: { apiKey }, path: { token: (await invitation(stage, email))[by] } }
}
