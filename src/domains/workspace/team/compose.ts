import type { ChannelMembers } from '../../talk/chat/index.ts'
import type { Clock } from '../../../core/clock.ts'
import type { Services } from '../../../core/services.ts'
import type { Database } from '../../../db/database.ts'
import type { Searches } from '../../../db/searches.ts'
import type { RowOwners } from '../../../db/owners.ts'
import type { MailLimits } from '../../../mail/limits.ts'
import type { PlanService } from '../../money/plans/index.ts'
import type { MemberCache } from '../workspaces/index.ts'
import { TeamGroups } from './groups.ts'
import { InvitationAnswers } from './invitation-answers.ts'
import { Invitations } from './invitations.ts'
import { TeamMembers } from './members.ts'
import { Ownership } from './owners.ts'
import { TeamRoles } from './roles.ts'
import { Seats } from './seats.ts'

export interface TeamNeeds {
  readonly database: Database
  readonly clock: Clock
  readonly plans: PlanService
  readonly memberships: MemberCache
  readonly owners: RowOwners
  readonly publicUrl: string
  readonly mailLimits: MailLimits
  readonly searches: Searches
  readonly channelMembers: ChannelMembers
}

type TeamServices = Pick<Services, 'members' | 'invitations' | 'invitationAnswers' | 'roles' | 'groups'>

/** Builds the services of the domain, and makes the workspace of an invitation known. */
export function composeTeam(needs: TeamNeeds): TeamServices {
  const { channelMembers, clock, database, mailLimits, memberships, owners, plans, publicUrl, searches } = needs
  const seats = new Seats(plans)
  const invitationAnswers = new InvitationAnswers(database, clock, seats, memberships)
  owners.register('invitation', (tokenOrId, userId) => invitationAnswers.workspaceOf(tokenOrId, userId))
  return {
    members: new TeamMembers({
      sql: database,
      clock,
      cache: memberships,
      ownership: new Ownership(plans),
      channels: channelMembers,
      searches,
    }),
    invitations: new Invitations({ sql: database, clock, seats, mailLimits, publicUrl }),
    invitationAnswers,
    roles: new TeamRoles(database, clock, memberships, plans),
    groups: new TeamGroups(database, clock, memberships, plans),
  }
}
