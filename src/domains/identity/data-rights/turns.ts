import { systemTurn } from '../../../core/system-turn.ts'

/** A person whose account is deleted leaves a workspace. Without another owner, the workspace is deleted with them. */
export const departTurn = systemTurn<{ readonly userId: string }>({
  name: 'users.depart',
  run: async ({ input, team, turn, workspaces }) => {
    if (await team.members.depart(turn, input.userId)) return
    await workspaces.service.deleteWithOwner(turn)
  },
})
