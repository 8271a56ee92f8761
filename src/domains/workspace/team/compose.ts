import type { Services } from '../../../core/services.ts'
import type { Foundation } from '../../../foundation.ts'
import { TeamGroups } from './groups.ts'
import { InvitationAnswers } from './invitation-answers.ts'
import { Invitations } from './invitations.ts'
import { TeamMembers } from './members.ts'
import { Ownership } from './owners.ts'
import { TeamRoles } from './roles.ts'
import { Seats } from './seats.ts'

declare module '../../../core/services.ts' {
  interface Services {
    readonly team: ReturnType<typeof composeTeam>['services']['team']
  }
}

/** Builds the services of the domain. Registers the lookup of the workspace of an invitation. */
export function composeTeam(
  foundation: Foundation,
  { chat: { channelMembers }, plans, workspaces: { memberships } }: Pick<Services, 'chat' | 'plans' | 'workspaces'>,
) {
  const { clock, database, owners } = foundation
  const seats = new Seats(plans)
  const answers = new InvitationAnswers(database, clock, seats, memberships)
  owners.register('invitation', (tokenOrId, userId) => answers.workspaceOf(tokenOrId, userId))
  const team = {
    members: new TeamMembers(foundation, memberships, new Ownership(plans), channelMembers),
    invitations: new Invitations(foundation, seats),
    answers,
    roles: new TeamRoles(database, clock, memberships, plans),
    groups: new TeamGroups(database, clock, memberships, plans),
  }
  return { services: { team } }
}
